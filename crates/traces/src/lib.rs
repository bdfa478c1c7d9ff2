//! Trace formats: one file per format, reader and writer together.
