package refserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"git.ryuvia.com/niklas/terdut-operator/openapi"
)

// validator compares traffic with the OpenAPI document.
type validator struct {
	router  routers.Router
	options *openapi3filter.Options
}

func newValidator() (*validator, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document)
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI document: %w", err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("check OpenAPI document: %w", err)
	}
	return &validator{router: router, options: &openapi3filter.Options{
		AuthenticationFunc:                openapi3filter.NoopAuthenticationFunc,
		IncludeResponseStatus:             true,
		RejectWhenRequestBodyNotSpecified: true,
		SkipSettingDefaults:               true,
	}}, nil
}

// validated refuses a request that the document does not know with 400, and turns an answer that it does not know
// into a 500. Both are kept as violations.
func (s *Server) validated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := callOf(r.Context()).route
		input, err := s.validate.request(r)
		if err != nil {
			what := "request violates the API: " + wrong(err)
			s.violation(route + ": " + what)
			writeError(w, http.StatusBadRequest, what)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if err = s.validate.response(r.Context(), input, answer); err != nil {
			what := "response violates the API: " + wrong(err)
			s.violation(route + ": " + what)
			writeError(w, http.StatusInternalServerError, what)
			return
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the caller may be gone
	})
}

func (v *validator) request(r *http.Request) (*openapi3filter.RequestValidationInput, error) {
	route, params, err := v.router.FindRoute(r)
	if err != nil {
		return nil, err
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: v.options}
	return input, openapi3filter.ValidateRequest(r.Context(), input)
}

func (v *validator) response(
	ctx context.Context, input *openapi3filter.RequestValidationInput, answer *httptest.ResponseRecorder,
) error {
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input,
		Status:                 answer.Code,
		Header:                 answer.Header(),
		Body:                   io.NopCloser(bytes.NewReader(answer.Body.Bytes())),
		Options:                v.options,
	})
}

// wrong names what is wrong and where, without the value: that may be a key.
func wrong(err error) string {
	var schema *openapi3.SchemaError
	if errors.As(err, &schema) {
		text := fmt.Sprintf("/%s breaks %q", strings.Join(schema.JSONPointer(), "/"), schema.SchemaField)
		if schema.SchemaField == "required" {
			text += ": " + schema.Reason
		}
		return text
	}
	var request *openapi3filter.RequestError
	if errors.As(err, &request) {
		if request.Parameter != nil {
			return "parameter " + request.Parameter.Name
		}
		return "body: " + request.Reason
	}
	var response *openapi3filter.ResponseError
	if errors.As(err, &response) {
		return response.Reason
	}
	return "no such operation"
}

func (s *Server) violation(what string) { s.note(func() { s.violations = append(s.violations, what) }) }

// Violations returns what did not follow the OpenAPI document, in the order of appearance. It is empty after a test
// that sends no bad request on purpose.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}
