//! Manual of the syntax faults; printed by `rsf explain`. Holds no code.
//!
//! # RSF101 unexpected character
//! The text is no JSON at this place: a comma or colon is missing, a bracket closes what it did not open, or a stray character stands between values.
//! Put what the message names in its place.
//! # RSF102 comment
//! JSON has no comments. Move the remark into a `description`, or delete it.
//! # RSF103 trailing comma
//! JSON allows no comma behind the last item of a list or object. Delete it.
//! # RSF104 text without double quotes
//! Keys and texts stand in double quotes: `"name"`, not `'name'` and not `name`.
//! # RSF105 key given twice
//! An object has the same key twice, perhaps once written with escapes (`vers\u0069on`). Most readers keep one of them in silence and a cell would vanish; here it is an error. Keep one.
//! # RSF106 number that JSON does not know
//! `NaN`, `Infinity`, hexadecimal digits, leading zeros, a leading plus, a bare point, or a number beyond what a double can hold. Write a plain decimal number.
//! # RSF107 not UTF-8
//! The file holds a byte that is no UTF-8 (an older encoding such as Latin-1 or GBK, or a damaged file). Save it as UTF-8.
//! # RSF108 UTF-16 or UTF-32
//! The file is written in UTF-16 or UTF-32, as some editors and shells do by default. Save it as UTF-8.
//! # RSF109 early end
//! The document ends before everything that was opened is closed. The message says what was opened and where.
//! # RSF110 text behind the document
//! A file holds one document; something follows it. Delete it, or put the second document into a file of its own.
//! # RSF111 nested too deep
//! Lists and objects may be nested 128 deep.
//! # RSF112 text that JSON does not allow
//! A raw control character or line break inside quotes, an escape JSON does not know, or half of a surrogate pair. Write `\n`, `\t`, `\u00e9` and so on.
//! # RSF113 empty file
//! The file is empty or blank.
//! # RSF114 byte-order mark
//! The file begins with a byte-order mark. It is read; save it as "UTF-8 without BOM" to be rid of the warning.
//! # RSF115 too much
//! The document has more values, or more faults, than are read. What follows was not looked at.
