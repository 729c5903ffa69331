package refserver

import (
	"context"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

func (a *api) ListAPIKeys(_ context.Context, r gen.ListAPIKeysRequestObject) (gen.ListAPIKeysResponseObject, error) {
	keys, err := a.s.model.KeysOf(r.UserID)
	if err != nil {
		return nil, err
	}
	return gen.ListAPIKeys200JSONResponse(each(keys, apiKey)), nil
}

func (a *api) CreateAPIKey(_ context.Context, r gen.CreateAPIKeyRequestObject) (gen.CreateAPIKeyResponseObject, error) {
	key, material, err := a.s.model.CreateKey(r.UserID, r.Body.Name, a.chosen(r.Body.Key))
	if err != nil {
		return nil, err
	}
	return gen.CreateAPIKey201JSONResponse{
		ID: key.ID, UserID: key.OwnerID, Name: key.Name, Key: material, CreatedAt: key.CreatedAt,
	}, nil
}

func (a *api) DeleteAPIKey(_ context.Context, r gen.DeleteAPIKeyRequestObject) (gen.DeleteAPIKeyResponseObject, error) {
	if err := a.s.model.DeleteKey(r.UserID, r.KeyID); err != nil {
		return nil, err
	}
	return gen.DeleteAPIKey204Response{}, nil
}

func (a *api) ListServiceAccounts(
	_ context.Context, r gen.ListServiceAccountsRequestObject,
) (gen.ListServiceAccountsResponseObject, error) {
	return gen.ListServiceAccounts200JSONResponse(each(a.s.model.Accounts(value(r.Params.Name)), account)), nil
}

func (a *api) CreateServiceAccount(
	_ context.Context, r gen.CreateServiceAccountRequestObject,
) (gen.CreateServiceAccountResponseObject, error) {
	acc, key, material, err := a.s.model.CreateAccount(r.Body.Name, value(r.Body.TeamID), a.chosen(r.Body.Key))
	if err != nil {
		return nil, err
	}
	return gen.CreateServiceAccount201JSONResponse{
		ID: acc.ID, Name: acc.Name, TeamID: optional(acc.TeamID), CreatedAt: acc.CreatedAt,
		Key: gen.CreatedServiceAccountKey{ID: key.ID, Name: key.Name, Key: material},
	}, nil
}

func (a *api) DeleteServiceAccount(
	_ context.Context, r gen.DeleteServiceAccountRequestObject,
) (gen.DeleteServiceAccountResponseObject, error) {
	if err := a.s.model.DeleteAccount(r.AccountID); err != nil {
		return nil, err
	}
	return gen.DeleteServiceAccount204Response{}, nil
}

func (a *api) ListServiceAccountKeys(
	_ context.Context, r gen.ListServiceAccountKeysRequestObject,
) (gen.ListServiceAccountKeysResponseObject, error) {
	if _, err := a.s.model.Account(r.AccountID); err != nil {
		return nil, err
	}
	keys, err := a.s.model.KeysOf(r.AccountID)
	if err != nil {
		return nil, err
	}
	return gen.ListServiceAccountKeys200JSONResponse(each(keys, func(k model.Key) gen.ServiceAccountKey {
		return gen.ServiceAccountKey{ID: k.ID, Name: k.Name, CreatedAt: &k.CreatedAt}
	})), nil
}

func (a *api) CreateServiceAccountKey(
	_ context.Context, r gen.CreateServiceAccountKeyRequestObject,
) (gen.CreateServiceAccountKeyResponseObject, error) {
	if _, err := a.s.model.Account(r.AccountID); err != nil {
		return nil, err
	}
	key, material, err := a.s.model.CreateKey(r.AccountID, r.Body.Name, a.chosen(r.Body.Key))
	if err != nil {
		return nil, err
	}
	return gen.CreateServiceAccountKey201JSONResponse{ID: key.ID, Name: key.Name, Key: material}, nil
}

func (a *api) DeleteServiceAccountKey(
	_ context.Context, r gen.DeleteServiceAccountKeyRequestObject,
) (gen.DeleteServiceAccountKeyResponseObject, error) {
	if _, err := a.s.model.Account(r.AccountID); err != nil {
		return nil, err
	}
	if err := a.s.model.DeleteKey(r.AccountID, r.KeyID); err != nil {
		return nil, err
	}
	return gen.DeleteServiceAccountKey204Response{}, nil
}
