"""Reports: a run or a comparison as a file that somebody takes away: HTML, PDF, SVG, a bundle.

A report's content is built elsewhere (`content.Report`) and only written here. All pure
functions, but for `bundle`, which reads and writes the store.
"""
