/** What Berth needs from an identity provider. */

/** A pending authorization. Everything but the URL is stored until the browser returns. */
export interface PendingAuthorization {
  /** Where to redirect the browser */
  url: URL
  /** Returned in the callback's query */
  state: string
  /** Returned in the signed ID token */
  nonce: string
  /** The PKCE secret; the provider has received its hash */
  codeVerifier: string
}

/** A person according to the provider. Text fields are one trimmed line; null if missing or invalid. */
export interface Identity {
  issuer: string
  /** Identifies the person permanently within the issuer */
  subject: string
  email: string | null
  /** true only if the provider says that the person owns `email`, or the operator trusts its addresses */
  emailVerified: boolean
  name: string | null
  firstName: string | null
  lastName: string | null
  /** Names or ids; null if they aren't read, or if the provider has too many to send */
  groups: string[] | null
}

/**
 * `expiresAt`: of the ID token. `sessionId`: the provider's, or null. `denied`: by the person or a policy.
 * `unavailable`: the provider is unreachable. `failed`: an invalid response. `detail`: for the log, without
 * codes or tokens. `claims`: their names. `providerError`: single lines (RFC 6749, sections 4.1.2.1 and 5.2).
 */
export type AuthorizationResult =
  | {
      outcome: 'identified'
      identity: Identity
      claims: string[]
      idToken: string
      expiresAt: Date
      sessionId: string | null
    }
  | {
      outcome: 'denied' | 'failed' | 'unavailable'
      detail: string
      providerError?: { error: string | null; error_description: string | null } | undefined
    }

/** Concerns one of the provider's sessions, or if `sessionId` is null all of a person's. One id is set. */
export type LogoutResult =
  | { outcome: 'verified'; issuer: string; subject: string | null; sessionId: string | null }
  | { outcome: 'invalid' | 'unavailable'; detail: string }

export interface IdentityProvider {
  /** Starts an authorization, null when the provider is unreachable. `asks`: whether it asks who it is. */
  begin(options: { asks: boolean }): Promise<PendingAuthorization | null>
  /** Exchanges and verifies the code. `query` is the query string of the callback, without `?`. */
  complete(
    query: string,
    pending: { state: string; nonce: string; codeVerifier: string },
  ): Promise<AuthorizationResult>
  /**
   * The page that ends the session of a person at the provider and returns to the callback (RP-Initiated
   * Logout 1.0); null without one, or while the provider is unreachable.
   */
  endSession(idToken: string): Promise<URL | null>
  /** Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6). */
  verifyLogout(token: string): Promise<LogoutResult>
}
