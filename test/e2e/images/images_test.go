package images

import (
	"slices"
	"testing"
)

func TestLibraryPaths(t *testing.T) {
	got := libraryPaths("\tlinux-vdso.so.1 (0x00007f3b27ccd000)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f3b26acd000)\n" +
		"\tlibgone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f3b27ccf000)\n\tstatically linked\n")
	want := []string{"/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestName(t *testing.T) {
	i := Image{Name: "registry.example:5000/some/image:v1.2.3"}
	if i.Repository() != "registry.example:5000/some/image" || i.Tag() != "v1.2.3" {
		t.Errorf("%q is split into %q and %q", i.Name, i.Repository(), i.Tag())
	}
}
