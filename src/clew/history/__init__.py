"""What happened in earlier sessions of coding clients: their transcripts, read into the store before the clients delete
them, and searched by words, files and errors.
"""
