PS1='benchstick# '
export LANG=C.UTF-8
