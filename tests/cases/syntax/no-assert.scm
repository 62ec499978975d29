; A test function in which nothing is asserted: no assert statement and no call of a known assertion.
(function_definition
  name: (identifier) @name
  body: (block) @body
  (#match? @name "^test")
  (#lacks? @body "assert_statement")
  (#lacks? @body "call" "^([A-Za-z_][A-Za-z0-9_]*\\.)*(raises|warns|fail|deprecated_call|assert[A-Za-z_]*)\\("))
