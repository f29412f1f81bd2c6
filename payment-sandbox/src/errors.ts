/** An error in the form of Stripe's API (docs.stripe.com/api/errors). */
export class SandboxError extends Error {
  readonly status: number
  readonly type: 'invalid_request_error' | 'card_error' | 'idempotency_error' | 'api_error'
  readonly code: string | undefined
  readonly declineCode: string | undefined
  readonly param: string | undefined
  constructor(
    status: number,
    message: string,
    details: {
      type?: SandboxError['type']
      code?: string | undefined
      declineCode?: string | undefined
      param?: string | undefined
    } = {},
  ) {
    super(message)
    this.name = 'SandboxError'
    this.status = status
    this.type = details.type ?? 'invalid_request_error'
    this.code = details.code
    this.declineCode = details.declineCode
    this.param = details.param
  }

  get body() {
    const { type, code, declineCode, message, param } = this
    return { error: { type, code, decline_code: declineCode, message, param } }
  }
}

/** 404 for the id of the URL, 400 for one in another parameter. */
export function missing(type: string, id: string, param: string): SandboxError {
  const status = param === 'id' ? 404 : 400
  return new SandboxError(status, `No such ${type}: '${id}'`, { code: 'resource_missing', param })
}

export function invalid(message: string, param?: string, code?: string): SandboxError {
  return new SandboxError(400, message, { param, code })
}

/** Why a card was refused, with a message for its owner. */
export interface Refusal {
  code: 'card_declined' | 'expired_card' | 'authentication_required'
  declineCode: string
  message: string
}

export function refused({ code, declineCode, message }: Refusal): SandboxError {
  return new SandboxError(402, message, { type: 'card_error', code, declineCode })
}
