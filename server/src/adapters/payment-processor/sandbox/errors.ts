/** An error as Stripe's API answers it. */
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

export function missing(what: string, id: string, param: string, status: 400 | 404 = 404): SandboxError {
  return new SandboxError(status, `No such ${what}: '${id}'`, { code: 'resource_missing', param })
}

export function invalid(message: string, param?: string, code?: string): SandboxError {
  return new SandboxError(400, message, { param, code })
}

/** A card's refusal, in the words that its owner is told. */
export interface Refusal {
  code: 'card_declined' | 'expired_card' | 'authentication_required'
  declineCode: string
  message: string
}

export function refused({ code, declineCode, message }: Refusal): SandboxError {
  return new SandboxError(402, message, { type: 'card_error', code, declineCode })
}
