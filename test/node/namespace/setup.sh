# Runs as root in fresh namespaces that still show the machine's directories. Makes the node's root directory and network.
# Arguments: directory of the node, its address, the range of the Services, then pairs of a program's name and path.
dir=$1 address=$2 services=$3
shift 3
root=$dir/root

# fail ends with the one line that the reader gets.
fail() {
	echo "$*" >&2
	exit 1
}

# No mount made here may show on the machine.
mount --make-rprivate / || fail "cannot make mounts private: is this process allowed to mount (CAP_SYS_ADMIN)?"

mkdir -p "$root"
mount --bind "$root" "$root"
for name in bin sbin lib lib32 lib64 usr; do
	if [ -L "/$name" ]; then
		ln -sfn "$(readlink "/$name")" "$root/$name"
	elif [ -d "/$name" ]; then
		mkdir -p "$root/$name"
		mount --rbind "/$name" "$root/$name"
		mount -o remount,bind,ro "$root/$name"
	fi
done
cd "$root"
mkdir -p dev etc node old proc root run sys tmp var/lib var/log opt mnt
chmod 1777 tmp
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc || fail "cannot mount /proc in a namespace of its own: the machine, or the container that this runs in, forbids it"
mount -t tmpfs -o mode=755 run run
mkdir -p run/lock
mount --bind "$dir" node
echo "127.0.0.1 localhost" >etc/hosts
echo "root:x:0:0:root:/root:/bin/sh" >etc/passwd
echo "root:x:0:" >etc/group
: >etc/resolv.conf
: >etc/machine-id
while [ $# -gt 0 ]; do
	mount --bind "$2" "node/bin/$1" || fail "cannot show the program $2 on the node"
	shift 2
done

# The kubelet sets these for the whole machine if they differ from what it wants. It finds what it wants.
while read -r name value; do
	[ -e "proc/sys/$name" ] || continue
	fake=$dir/sysctl/$name
	mkdir -p "${fake%/*}"
	echo "$value" >"$fake"
	mount --bind "$fake" "proc/sys/$name"
done <<END
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
vm/overcommit_memory 1
vm/panic_on_oom 0
END

mkdir -p "$dir/probe/lower" "$dir/probe/upper" "$dir/probe/work" "$dir/probe/merged"
mount -t overlay -o "lowerdir=$dir/probe/lower,upperdir=$dir/probe/upper,workdir=$dir/probe/work" overlay "$dir/probe/merged" ||
	fail "no overlay mount in $dir: the kernel lacks overlay, or that file system cannot carry it; choose another directory"
umount "$dir/probe/merged"
rm -rf "$dir/probe"

pivot_root . old
umount -l /old
rmdir /old
cd /

hostname node
ip link set lo up
ip link add node0 type bridge || fail "no network bridge: the kernel lacks it (CONFIG_BRIDGE, module bridge)"
ip address add "$address" dev node0
ip link set node0 up
ip link add probe0 type veth peer name probe1 || fail "no virtual Ethernet: the kernel lacks it (CONFIG_VETH, module veth)"
ip link delete probe0
# The address of a Service is on no device; only with a route does a packet get as far as kube-proxy's rules.
ip route add "$services" dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward
echo "
table ip probe {
	map services { type ipv4_addr . inet_proto . inet_service : verdict; }
	chain nat { type nat hook postrouting priority 100; meta l4proto tcp masquerade; }
}" >/tmp/probe.nft
nft -f /tmp/probe.nft || fail "nftables cannot do what kube-proxy needs: the kernel lacks it (CONFIG_NF_TABLES, CONFIG_NFT_NAT, CONFIG_NFT_MASQ), or nft is older than 1.0.1"
nft delete table ip probe
rm /tmp/probe.nft
