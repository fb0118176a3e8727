PS1='benchstick# '
export LANG=C.UTF-8
# As the services have it; Buildroot's /etc/profile puts /bin first.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
