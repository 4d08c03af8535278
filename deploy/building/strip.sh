#!/bin/sh
# Takes out of the system what a server does not need. Licences stay: /usr/share/doc/*/copyright.
set -eu
purge() {
  for package; do
    if dpkg-query -W "$package" > /dev/null 2>&1; then
      dpkg --purge --force-depends --force-remove-essential --force-remove-protected "$package"
    fi
  done
}
# Installing and accounts first, then what only those need. What is not there is passed over.
purge apt sqv gpgv debian-archive-keyring adduser init-system-helpers sysvinit-utils \
  login passwd login.defs mount util-linux bsdutils e2fsprogs logsave ncurses-bin \
  libpam-runtime libpam-modules libpam-modules-bin libpam0g debconf perl-base
purge libapt-pkg7.0 libapt-pkg6.0t64 libseccomp2 libhogweed6t64 libnettle8t64 libgmp10 libstdc++6 \
  libgnutls30t64 libp11-kit0 libtasn1-6 libunistring5 libidn2-0 libdb5.3t64 libdebconfclient0 \
  libsemanage2 libsemanage-common libsepol2 libaudit1 libaudit-common libcap-ng0 liblastlog2-2 \
  libsmartcols1 libmount1 libblkid1 libfdisk1 libudev1 libsystemd0 libext2fs2t64 libss2 libcom-err2 \
  libbsd0 openssl-provider-legacy libxxhash0
rm -rf /var/lib/apt /var/cache/apt /var/lib/pam /var/lib/systemd /var/backups /var/cache/debconf /var/log/* /var/cache/ldconfig /etc/apt \
  /usr/share/man /usr/share/info /usr/share/locale /usr/share/lintian /usr/share/bash-completion \
  /usr/share/zsh /usr/share/bug /usr/share/common-licenses/GFDL* /usr/share/python3/debpython \
  /usr/lib/python3*/ensurepip /usr/lib/python3*/idlelib /usr/lib/python3*/tkinter \
  /usr/lib/python3*/turtledemo /usr/lib/python3*/turtle.py /usr/lib/python3*/pydoc_data \
  /usr/lib/python3*/lib2to3 /usr/lib/python3*/test /usr/lib/python3*/unittest /usr/lib/python3*/doctest.py \
  /usr/lib/*/gconv /usr/lib/valgrind /usr/lib/locale/C.utf8/LC_COLLATE.old
find /usr/share/doc -type f ! -name copyright -delete
# What is a link to the licence of another package stays.
find /usr/share/doc -type l ! -xtype d -delete
find /usr/share/doc -type d -empty -delete
find /usr/local -name '*.pyi' -delete
find / -xdev \( -name '*.dpkg-old' -o -name '*-old' \) -path '/var/*' -delete
