//! The terms of RDF 1.1 as plain, ordered data. Whether an IRI is legal is the business of whoever makes one.

/// IRI of `rdf:type`.
pub const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
/// Namespace of the XML Schema datatypes.
pub const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// A literal: its lexical form with a datatype or a language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    /// The characters.
    pub text: String,
    /// IRI of the datatype; empty where `language` is given.
    pub datatype: String,
    /// Language tag in lower case, if any.
    pub language: Option<String>,
}

impl Literal {
    /// A plain text (`xsd:string`).
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::typed(text, format!("{XSD}string"))
    }

    /// A whole number (`xsd:integer`).
    #[must_use]
    pub fn integer(value: impl std::fmt::Display) -> Self {
        Self::typed(value.to_string(), format!("{XSD}integer"))
    }

    /// A literal of the given datatype.
    #[must_use]
    pub fn typed(text: impl Into<String>, datatype: impl Into<String>) -> Self {
        Self { text: text.into(), datatype: datatype.into(), language: None }
    }

    /// A text in a language.
    #[must_use]
    pub fn in_language(text: impl Into<String>, tag: &str) -> Self {
        Self { text: text.into(), datatype: String::new(), language: Some(tag.to_lowercase()) }
    }
}

/// A subject or an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// An absolute IRI.
    Iri(String),
    /// A blank node with a label that means something in one graph only.
    Blank(String),
    /// A literal.
    Literal(Literal),
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Triple {
    /// An IRI or a blank node.
    pub subject: Node,
    /// An IRI.
    pub predicate: String,
    /// Anything.
    pub object: Node,
}
