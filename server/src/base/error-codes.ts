/** The kind of an error. Only `http/errors.ts` maps kinds to HTTP statuses. */
export type ErrorKind =
  | 'malformed'
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'too_slow'
  | 'conflict'
  | 'gone'
  | 'precondition_failed'
  | 'too_large'
  | 'headers_too_large'
  | 'unsupported_media_type'
  | 'range_not_satisfiable'
  | 'misdirected'
  | 'locked'
  | 'checksum_mismatch'
  | 'rate_limited'
  | 'internal'
  | 'upstream_failed'
  | 'unavailable'
  | 'upstream_timeout'

/** Every error code of the API, with its kind and its meaning for the reference. */
export const errorCodes = {
  // Requests
  malformed_request: { kind: 'malformed', meaning: 'The request is not valid HTTP.' },
  malformed_json: { kind: 'malformed', meaning: 'The body is missing or not valid JSON.' },
  request_timeout: { kind: 'too_slow', meaning: 'The body arrived too slowly.' },
  body_too_large: { kind: 'too_large', meaning: 'The body is too large.' },
  headers_too_large: { kind: 'headers_too_large', meaning: 'The headers are too large.' },
  unsupported_media_type: { kind: 'unsupported_media_type', meaning: 'The body is not `application/json`.' },
  unsupported_encoding: {
    kind: 'unsupported_media_type',
    meaning: 'The body has another `Content-Encoding` than those in `Accept-Encoding`.',
  },
  validation_failed: { kind: 'invalid', meaning: 'Some fields are invalid; `errors` lists them.' },
  not_found: {
    kind: 'not_found',
    meaning: 'The resource does not exist, or belongs to another organization.',
  },
  method_not_allowed: {
    kind: 'method_not_allowed',
    meaning: 'The address accepts only the methods in `Allow`.',
  },
  unknown_host: { kind: 'misdirected', meaning: 'The server does not serve the host of the request.' },
  csrf_rejected: { kind: 'forbidden', meaning: 'The request came from another site.' },
  rate_limited: { kind: 'rate_limited', meaning: 'There were too many requests.' },
  idempotency_key_reused: {
    kind: 'invalid',
    meaning: 'Another request of yours had this `Idempotency-Key`.',
  },
  request_in_progress: {
    kind: 'conflict',
    meaning: 'The request with this `Idempotency-Key` still runs.',
  },

  // The server
  server_busy: { kind: 'unavailable', meaning: 'Too many callers wait for the server.' },
  server_draining: { kind: 'unavailable', meaning: 'The server is shutting down.' },
  server_stopping: {
    kind: 'unavailable',
    meaning: 'The server stopped before it could answer; send the request again.',
  },
  database_unavailable: { kind: 'unavailable', meaning: 'The database is unreachable or refuses changes.' },
  overloaded: {
    kind: 'unavailable',
    meaning: 'The server has no file descriptors, memory or processes left.',
  },
  storage_full: { kind: 'unavailable', meaning: 'A disk of the server is full.' },
  internal_error: { kind: 'internal', meaning: 'The server failed to process the request.' },

  // Accounts
  invalid_engine_key: {
    kind: 'unauthenticated',
    meaning: 'The key belongs to no active deployment of an uploaded model.',
  },
  not_authenticated: { kind: 'unauthenticated', meaning: 'The session is missing or has ended.' },
  invalid_credentials: { kind: 'unauthenticated', meaning: 'The email or the password is wrong.' },
  second_factor_required: {
    kind: 'unauthenticated',
    meaning: 'The account needs a second factor too; `second_factors` lists the possible ones.',
  },
  invalid_code: { kind: 'unauthenticated', meaning: 'The code is wrong or was used before.' },
  invalid_passkey: { kind: 'unauthenticated', meaning: 'The passkey’s response is invalid or too late.' },
  account_disabled: { kind: 'forbidden', meaning: 'The operator has disabled the account.' },
  registration_closed: { kind: 'forbidden', meaning: 'New accounts need an invitation.' },
  password_sign_in_disabled: { kind: 'forbidden', meaning: 'This installation requires single sign-on.' },
  sign_in_again: { kind: 'forbidden', meaning: 'The action needs a recent sign-in.' },
  network_not_allowed: {
    kind: 'forbidden',
    meaning: 'The service member may not work from the caller’s network.',
  },
  people_only: { kind: 'forbidden', meaning: 'The action is for people, not for service members.' },
  email_unproven: { kind: 'forbidden', meaning: 'The account’s email must be verified first.' },
  verification_email_mismatch: {
    kind: 'forbidden',
    meaning: 'The verification link belongs to another account.',
  },
  invalid_or_expired_token: { kind: 'malformed', meaning: 'The link’s token is unknown, used or expired.' },
  email_taken: { kind: 'conflict', meaning: 'An account with this email exists.' },
  profile_complete: { kind: 'conflict', meaning: 'The profile was completed before.' },
  no_password: { kind: 'conflict', meaning: 'The account has no password.' },
  last_sign_in_method: { kind: 'conflict', meaning: 'The account would lose its last way to sign in.' },
  no_second_factor: { kind: 'conflict', meaning: 'The account has no second factor.' },
  authenticator_app_exists: { kind: 'conflict', meaning: 'The account has an authenticator app.' },
  setup_not_started: { kind: 'conflict', meaning: 'The setup was not started, or has expired.' },
  passkey_exists: { kind: 'conflict', meaning: 'The account has this passkey.' },
  too_many_passkeys: { kind: 'conflict', meaning: 'The account has as many passkeys as it can.' },
  too_many_script_sessions: {
    kind: 'conflict',
    meaning: 'The account has as many sessions for scripts as it can.',
  },
  second_factor_unreadable: {
    kind: 'unavailable',
    meaning: 'The server lost the key of the authenticator app; a recovery code still works.',
  },
  invalid_logout_token: {
    kind: 'malformed',
    meaning: 'The provider’s logout token is missing, invalid or too old.',
  },
  sso_unavailable: { kind: 'unavailable', meaning: 'The identity provider is unreachable.' },

  // Organizations
  forbidden: { kind: 'forbidden', meaning: 'The caller’s role does not allow this.' },
  second_factor_setup_required: {
    kind: 'forbidden',
    meaning: 'The organization requires a second factor, which the account does not have.',
  },
  organization_suspended: {
    kind: 'forbidden',
    meaning: 'The organization is suspended or closed: read-only.',
  },
  organization_status_conflict: {
    kind: 'conflict',
    meaning: 'The organization’s status does not allow this.',
  },
  last_super_admin: { kind: 'conflict', meaning: 'The organization would lose its last super_admin.' },
  service_member_role: { kind: 'conflict', meaning: 'A service member can only be a viewer or a member.' },
  too_many_service_members: {
    kind: 'conflict',
    meaning: 'The organization has as many service members as it can.',
  },
  team_exists: { kind: 'conflict', meaning: 'The organization has a team of this name.' },
  endpoint_exists: { kind: 'conflict', meaning: 'The organization has an endpoint of this name.' },
  endpoint_in_use: {
    kind: 'conflict',
    meaning: 'The endpoint has active deployments; `deployment_ids` lists them.',
  },
  too_many_endpoints: { kind: 'conflict', meaning: 'The organization has as many endpoints as it can.' },
  too_many_teams: { kind: 'conflict', meaning: 'The organization has as many teams as it can.' },
  deployments_active: {
    kind: 'conflict',
    meaning: 'The member has active deployments; `deployment_ids` lists them.',
  },
  invalid_recipient: { kind: 'invalid', meaning: 'This person can’t take over the deployments.' },
  already_member: { kind: 'conflict', meaning: 'This person is a member already.' },
  invitation_pending: { kind: 'conflict', meaning: 'This email has a pending invitation.' },
  invitation_answered: { kind: 'conflict', meaning: 'The invitation was accepted, rejected or cancelled.' },
  invitation_expired: { kind: 'gone', meaning: 'The invitation has expired.' },
  invitation_replaced: { kind: 'gone', meaning: 'A newer email replaced the link of the invitation.' },
  invitation_email_mismatch: { kind: 'forbidden', meaning: 'The invitation is for another email.' },
  link_emailed: { kind: 'conflict', meaning: 'The link was emailed, so it is not shown.' },

  // Models
  repository_not_found: { kind: 'invalid', meaning: 'The Hub has no such repository, or does not show it.' },
  repository_gated: {
    kind: 'invalid',
    meaning: 'The repository needs an accepted license and a token of that account.',
  },
  no_runnable_weights: {
    kind: 'invalid',
    meaning: 'No engine of the server loads what the repository or the file has; `reasons` says why.',
  },
  alias_taken: {
    kind: 'conflict',
    meaning: 'The alias is, or would be, a name of another model, LoRA or deployment.',
  },
  adapter_not_supported: {
    kind: 'invalid',
    meaning:
      'The deployment can not serve the LoRA: it is of another model, or the engine does not serve LoRAs.',
  },
  base_model_not_found: {
    kind: 'invalid',
    meaning: 'The model is a LoRA, and the organization does not see its base model.',
  },
  hub_unreachable: { kind: 'unavailable', meaning: 'The Hub is unreachable.' },
  model_name_taken: {
    kind: 'conflict',
    meaning: 'The organization sees a model of this name, or a deployment has it as its alias.',
  },
  model_in_use: {
    kind: 'conflict',
    meaning: 'The model has active deployments; `deployment_ids` lists them.',
  },
  endpoint_model: {
    kind: 'conflict',
    meaning: 'The model belongs to an endpoint, which says what models it has.',
  },
  catalog_model: { kind: 'forbidden', meaning: 'The model belongs to the installation.' },
  range_not_satisfiable: { kind: 'range_not_satisfiable', meaning: 'The file is shorter than the range.' },
  uploads_not_supported: { kind: 'invalid', meaning: 'The compute backend can not load uploaded files.' },
  uploads_disabled: { kind: 'forbidden', meaning: 'The operator has turned uploads off.' },
  upload_too_large: { kind: 'too_large', meaning: 'The file is larger than uploads may be.' },
  upload_quota_exceeded: {
    kind: 'conflict',
    meaning: 'The uploads of the organization would take more room than they may.',
  },
  not_gguf: { kind: 'invalid', meaning: 'The file is no valid GGUF file.' },
  unsupported_architecture: {
    kind: 'invalid',
    meaning: 'The engine for GGUF files does not have the architecture of the file.',
  },
  upload_offset_mismatch: {
    kind: 'conflict',
    meaning: 'The part does not start where the upload ends; HEAD says where.',
  },
  upload_locked: { kind: 'locked', meaning: 'Another request writes to the upload.' },
  upload_elsewhere: {
    kind: 'conflict',
    meaning:
      'Another server has the bytes of the upload, so the requests of an upload must reach one server.',
  },
  model_store_unavailable: {
    kind: 'unavailable',
    meaning: 'The store of uploaded models does not answer, or refuses the server.',
  },
  upload_incomplete: { kind: 'conflict', meaning: 'The upload has not arrived completely.' },
  checksum_mismatch: { kind: 'checksum_mismatch', meaning: 'The bytes do not have the announced checksum.' },
  tus_version_not_supported: {
    kind: 'precondition_failed',
    meaning: 'The request names no version of the tus protocol, or another than `Tus-Version`.',
  },

  // Deployments
  model_not_deployable: {
    kind: 'invalid',
    meaning: 'The catalog does not offer this variant, or no instance type can run it.',
  },
  deployment_not_running: { kind: 'conflict', meaning: 'The deployment sleeps, starts, fails or has ended.' },
  not_for_endpoints: {
    kind: 'malformed',
    meaning: 'The deployment uses an endpoint, which neither sleeps, scales nor takes options.',
  },
  benchmark_running: { kind: 'conflict', meaning: 'Another benchmark of the deployment runs.' },
  model_not_measurable: {
    kind: 'conflict',
    meaning: 'Benchmarks measure chats, which the model does not answer.',
  },
  deployment_ended: { kind: 'conflict', meaning: 'The deployment has failed or is terminated.' },
  no_feasible_instance: { kind: 'conflict', meaning: 'No instance type can run the deployment.' },
  runtime_unavailable: { kind: 'unavailable', meaning: 'The compute backend is unreachable.' },

  // Inference
  invalid_request_error: { kind: 'malformed', meaning: 'The gateway can’t read or route the request.' },
  unknown_url: { kind: 'not_found', meaning: 'OpenAI’s API has the route, Berth does not.' },
  route_not_supported: {
    kind: 'not_found',
    meaning: 'The engine of the deployment does not serve the route.',
  },
  model_not_found: { kind: 'not_found', meaning: 'The caller has no deployment of this name or id.' },
  deployment_failed: { kind: 'malformed', meaning: 'The deployment has failed.' },
  deployment_not_ready: { kind: 'unavailable', meaning: 'The deployment is not running, or is restarting.' },
  deployment_waking: { kind: 'unavailable', meaning: 'The deployment slept and is not awake yet.' },
  no_capacity: { kind: 'unavailable', meaning: 'There is no hardware to wake the deployment on.' },
  insufficient_quota: {
    kind: 'rate_limited',
    meaning: 'The deployment sleeps because a budget is exhausted.',
  },
  upstream_unavailable: {
    kind: 'upstream_failed',
    meaning: 'The engine is unreachable or its response broke off.',
  },
  external_not_allowed: {
    kind: 'forbidden',
    meaning: 'The organization does not allow that prompts leave the server, and an endpoint has the model.',
  },
  endpoint_refused: { kind: 'upstream_failed', meaning: 'The endpoint of the model refuses its key.' },
  engine_response_invalid: {
    kind: 'upstream_failed',
    meaning: 'The engine’s response is not what the request asks for, such as a list with a missing item.',
  },
  upstream_timeout: { kind: 'upstream_timeout', meaning: 'The engine did not respond in time.' },

  // Billing
  resource_limit_reached: {
    kind: 'conflict',
    meaning: 'The organization’s deployments may have as many instances as its limit.',
  },
  trial_credit_exhausted: { kind: 'conflict', meaning: 'The trial credit is used up.' },
  payment_past_due: { kind: 'conflict', meaning: 'A payment is past due.' },
  account_suspended: { kind: 'conflict', meaning: 'The billing account is suspended or closed.' },
  billing_off: { kind: 'conflict', meaning: 'This installation takes no payments.' },
  billing_not_activated: { kind: 'conflict', meaning: 'Postpaid billing is not activated.' },
  budget_exists: { kind: 'conflict', meaning: 'The organization, member or deployment has a budget.' },
  budget_exhausted: { kind: 'conflict', meaning: 'A budget is exhausted, or would be within a minute.' },
  card_declined: { kind: 'conflict', meaning: 'The card was declined.' },
  authentication_required: { kind: 'conflict', meaning: 'The card needs its owner’s authentication.' },
  payment_method_required: { kind: 'conflict', meaning: 'Automatic charging needs a default card.' },
  billing_change_in_progress: {
    kind: 'unavailable',
    meaning: 'Another change to the billing account is in progress.',
  },
  payment_processor_unavailable: { kind: 'unavailable', meaning: 'The payment processor is unreachable.' },
  invalid_date_range: { kind: 'invalid', meaning: 'The range is reversed or too long.' },
  mixed_currencies: { kind: 'conflict', meaning: 'The range has usage in several currencies.' },
  invalid_signature: { kind: 'malformed', meaning: 'The webhook’s signature is invalid or has expired.' },
} as const satisfies Record<string, { kind: ErrorKind; meaning: string }>

/** A stable code for programs. Each code has one kind, and thereby one HTTP status. */
export type ErrorCode = keyof typeof errorCodes
