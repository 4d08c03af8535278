#!/bin/sh
# The user and the folders of RocketMQ's official image. $1: the version that gives the folder of the scripts its name.
set -eu
home=/home/rocketmq
echo "rocketmq:x:3000:" >> /etc/group
echo "rocketmq:x:3000:3000:RocketMQ:$home:/bin/sh" >> /etc/passwd
# Mounts and commands for another version find the same folder.
for version in current \
  4.3.0 4.3.1 4.3.2 4.4.0 4.5.0 4.5.1 4.5.2 4.6.0 4.6.1 4.7.0 4.7.1 4.8.0 \
  4.9.0 4.9.1 4.9.2 4.9.3 4.9.4 4.9.5 4.9.6 4.9.7 4.9.8 \
  5.0.0 5.1.0 5.1.1 5.1.2 5.1.3 5.1.4 5.2.0 5.3.0 5.3.1 5.3.2 5.3.3 5.3.4 5.4.0 5.5.0 5.5.1; do
  case $version in
    current) ln -s "rocketmq-$1" "$home/current" ;;
    "$1") ;;
    *) ln -s "rocketmq-$1" "$home/rocketmq-$version" ;;
  esac
done
chmod -R a+rX "$home" /usr/local
# For the user of the image, and for any other one in the group 0.
for folder in store logs namesrv; do
  mkdir -p "$home/$folder"
done
chown -R 3000:0 "$home/store" "$home/logs" "$home/namesrv" "$home/rocketmq-$1/conf"
chown 3000:0 "$home"
chmod 2775 "$home" "$home/store" "$home/logs" "$home/namesrv" "$home/rocketmq-$1/conf"
# The operator mounts the store below it.
chmod 0755 /root
# `sh -c COMMAND` as the first process of a container: dash would stay, and hand no signal on; bash becomes the command.
ln -sf bash /usr/bin/sh
