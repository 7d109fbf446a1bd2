"""Conversations from elsewhere: imports as jobs, what is stored of them and known again; the first one of newcomers."""
