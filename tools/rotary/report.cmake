# What `rotary explain` says: for the command, and for explain() of the Python package.
set(rotary_report_sources peer_words.cc render_json.cc render_text.cc scaling_words.cc text.cc)
list(TRANSFORM rotary_report_sources PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
