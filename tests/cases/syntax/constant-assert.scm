; Asserts that cannot fail, whatever is tested.
(assert_statement . [(true) (integer) (string) (float)] @constant)
(assert_statement . (boolean_operator left: (_) @a operator: "or" right: (not_operator argument: (_) @b)) @constant (#eq? @a @b))
(assert_statement . (boolean_operator left: (not_operator argument: (_) @a) operator: "or" right: (_) @b) @constant (#eq? @a @b))
(assert_statement . (comparison_operator . (_) @a operators: "==" (_) @b .) @constant (#eq? @a @b))
