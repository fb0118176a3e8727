"""Reports: a run or a comparison as a file that somebody takes away: HTML, PDF, SVG, a bundle.

What stands in a report is made elsewhere (`content.Report`); here it is only written. All pure
functions, but for `bundle`, which reads and writes the store.
"""
