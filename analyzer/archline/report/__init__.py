"""Results as text, JSON, LaTeX and Markdown: one renderer a format over the views of `archline.report.view`."""
