"""Reports: a run or a comparison as a file that somebody takes away: HTML, PDF, SVG, a bundle.

`run_report` and `comparison_report` build a report's content (`content.Report`), the other modules
write it. All pure functions, but for `bundle`, which reads and writes the store.
"""
