/** What Berth asks of an identity provider. */

/** An authorization that began: where its browser goes, and what must be remembered until it comes back. */
export interface BegunAuthorization {
  url: URL
  /** Comes back with the browser */
  state: string
  /** Comes back in the provider's signed statement */
  nonce: string
  /** The secret of PKCE, whose hash went to the provider */
  codeVerifier: string
}

/** Whom the provider says that somebody is; texts are clean, or null where it said nothing usable. */
export interface Identity {
  issuer: string
  /** Names one person for good within the issuer */
  subject: string
  email: string | null
  /** True only where the provider vouches for `email` */
  emailVerified: boolean
  name: string | null
  firstName: string | null
  lastName: string | null
}

/**
 * How an authorization ended. `denied`: by the person or the provider's policy; `unavailable`: the provider could not be
 * reached; `failed`: anything that is not as it must be. `detail` is for the log and holds neither codes nor tokens.
 */
export type AuthorizationResult =
  | { outcome: 'identified'; identity: Identity }
  | { outcome: 'denied' | 'failed' | 'unavailable'; detail: string }

export interface IdentityProvider {
  /** Begins an authorization; null when the provider can't be reached now. */
  begin(): Promise<BegunAuthorization | null>
  /** Checks what the browser brought back against what was remembered. `query` is the callback's, without its `?`. */
  complete(
    query: string,
    remembered: { state: string; nonce: string; codeVerifier: string },
  ): Promise<AuthorizationResult>
}
