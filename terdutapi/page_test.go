package terdutapi_test

import (
	"context"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// What stands on another page is not absent.
func TestPageOfAList(t *testing.T) {
	const one = `[{"id":1,"name":"a"}]`
	for name, c := range map[string]struct {
		status int
		body   string
		header []string
		want   error // nil: success
	}{
		"another page by Link":      {200, one, []string{"Link", `</api/teams?page=2>; rel="next", </api/teams?page=9>; rel="last"`}, terdutapi.ErrUnexpectedAnswer},
		"Link without quotes":       {200, one, []string{"Link", `</api/teams?page=2>; rel=next`}, terdutapi.ErrUnexpectedAnswer},
		"a second Link":             {200, one, []string{"Link", `</style.css>; rel=preload, </api/teams?page=2>; title="more"; rel="prefetch next"`}, terdutapi.ErrUnexpectedAnswer},
		"the last page by Link":     {200, one, []string{"Link", `</api/teams?page=1>; rel="prev"`}, nil},
		"another Link":              {200, one, []string{"Link", `</next>; rel=preload`}, nil},
		"a next page":               {200, one, []string{"X-Next-Page", "2"}, terdutapi.ErrUnexpectedAnswer},
		"no next page":              {200, one, []string{"X-Next-Page", ""}, nil},
		"more by X-Total-Count":     {200, one, []string{"X-Total-Count", "2"}, terdutapi.ErrUnexpectedAnswer},
		"more by X-Total":           {200, `[]`, []string{"X-Total", "1"}, terdutapi.ErrUnexpectedAnswer},
		"all by X-Total-Count":      {200, one, []string{"X-Total-Count", "1"}, nil},
		"a part":                    {206, one, []string{"Content-Range", "items 0-0/2"}, terdutapi.ErrUnexpectedAnswer},
		"an envelope around a page": {200, `{"items":` + one + `,"next":"abc"}`, nil, terdutapi.ErrUnexpectedAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := answering(t, c.status, jsonType, c.body, c.header...).ListTeams(context.Background())
			if c.want == nil {
				if err != nil {
					t.Errorf("failed: %v", err)
				}
				return
			}
			only(t, err, c.want)
		})
	}
}
