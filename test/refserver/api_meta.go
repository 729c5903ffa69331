package refserver

import (
	"context"
	"log"
	"net/http"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// api implements the routes: it translates between wire and model, and has no rules of its own.
type api struct{ s *Server }

var _ gen.StrictServerInterface = (*api)(nil)

func (a *api) GetHealth(ctx context.Context, _ gen.GetHealthRequestObject) (gen.GetHealthResponseObject, error) {
	if err := a.s.model.Ping(ctx); err != nil {
		log.Printf("GET /healthz: %v", err)
		return nil, &model.Refusal{Status: http.StatusServiceUnavailable, Message: "the database does not answer"}
	}
	return gen.GetHealth200JSONResponse{Status: "ok"}, nil
}

func (a *api) GetVersion(context.Context, gen.GetVersionRequestObject) (gen.GetVersionResponseObject, error) {
	return gen.GetVersion200JSONResponse{Version: a.s.options.Version, Capabilities: a.offers().Names()}, nil
}

func (a *api) Bootstrap(_ context.Context, r gen.BootstrapRequestObject) (gen.BootstrapResponseObject, error) {
	first, key, err := a.s.model.Bootstrap(r.Body.Username, r.Body.Email, a.chosen(r.Body.Key))
	if err != nil {
		return nil, err
	}
	return gen.Bootstrap201JSONResponse{User: user(first), Key: key}, nil
}

func (a *api) GetMe(ctx context.Context, _ gen.GetMeRequestObject) (gen.GetMeResponseObject, error) {
	actor := callOf(ctx).actor
	if actor.Account {
		acc, err := a.s.model.Account(actor.ID)
		if err != nil {
			return nil, err
		}
		return gen.GetMe200JSONResponse{User: gen.User{ID: acc.ID, Username: acc.Name, CreatedAt: acc.CreatedAt}}, nil
	}
	me, err := a.s.model.User(actor.ID)
	if err != nil {
		return nil, err
	}
	return gen.GetMe200JSONResponse{User: user(me), HasPassword: len(me.Password) > 0}, nil
}

func (a *api) ListUsers(context.Context, gen.ListUsersRequestObject) (gen.ListUsersResponseObject, error) {
	return gen.ListUsers200JSONResponse(each(a.s.model.Users(), user)), nil
}

func (a *api) CreateUser(_ context.Context, r gen.CreateUserRequestObject) (gen.CreateUserResponseObject, error) {
	created, err := a.s.model.CreateUser(r.Body.Username, r.Body.Email, false)
	if err != nil {
		return nil, err
	}
	return gen.CreateUser201JSONResponse(user(created)), nil
}

func (a *api) DeleteUser(_ context.Context, r gen.DeleteUserRequestObject) (gen.DeleteUserResponseObject, error) {
	if err := a.s.model.DeleteUser(r.UserID); err != nil {
		return nil, err
	}
	return gen.DeleteUser204Response{}, nil
}

func (a *api) SetUserNotify(
	_ context.Context, r gen.SetUserNotifyRequestObject,
) (gen.SetUserNotifyResponseObject, error) {
	changed, err := a.s.model.SetTopic(r.UserID, r.Body.NtfyTopic)
	if err != nil {
		return nil, err
	}
	return gen.SetUserNotify200JSONResponse(user(changed)), nil
}

func (a *api) SetUserPassword(
	_ context.Context, r gen.SetUserPasswordRequestObject,
) (gen.SetUserPasswordResponseObject, error) {
	if err := a.s.model.SetPassword(r.UserID, r.Body.Password); err != nil {
		return nil, err
	}
	return gen.SetUserPassword204Response{}, nil
}
