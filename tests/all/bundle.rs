//! Bundles: which folder is the root, which files belong, what is left out.

use rsf::bundle::Bundle;
use std::fs;

#[test]
fn the_root_is_above_a_workflows_folder_and_links_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("project");
    for inner in ["workflows", "prompts/deep", "schemas", "other"] {
        fs::create_dir_all(root.join(inner)).expect("a folder");
    }
    fs::write(root.join("workflows/w.json"), "{}").expect("written");
    fs::write(root.join("prompts/deep/p.md"), "words").expect("written");
    fs::write(root.join("schemas/latin1.json"), [0xe9]).expect("written");
    fs::write(root.join("other/o.md"), "not part of it").expect("written");
    fs::write(folder.path().join("secret"), "outside").expect("written");
    std::os::unix::fs::symlink(folder.path().join("secret"), root.join("prompts/link.md")).expect("a link");
    std::os::unix::fs::symlink(folder.path(), root.join("samples")).expect("a link");

    let bundle = Bundle::load(&root.join("workflows/w.json")).expect("a bundle");
    assert_eq!(bundle.root.as_deref(), Some(root.as_path()));
    assert_eq!(bundle.files.keys().collect::<Vec<_>>(), ["prompts/deep/p.md", "workflows/w.json"]);
    assert_eq!(bundle.skipped.keys().collect::<Vec<_>>(), ["prompts/link.md", "schemas/latin1.json"]);

    fs::write(root.join("plain.json"), "{}").expect("written");
    let bundle = Bundle::load(&root.join("plain.json")).expect("a bundle");
    assert_eq!(bundle.root.as_deref(), Some(root.as_path()));
}

#[test]
fn a_document_larger_than_the_bound_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.json");
    let file = fs::File::create(&path).expect("a file");
    file.set_len(64 * 1024 * 1024 + 1).expect("a sparse file");
    let error = Bundle::load(&path).expect_err("too large");
    assert!(error.message.contains("larger than 64 MB"), "{error}");
}
