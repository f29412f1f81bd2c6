import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Config } from '../../config/config.ts'
import type { Passkey } from './passkey-store.ts'

type Site = Pick<Config, 'publicUrl'>

/** Loaded with the first passkey: it takes half a second, and most installations have none. */
const load = () => import('@simplewebauthn/server')

/** Passkeys belong to the host of PUBLIC_URL. */
const toRelyingParty = ({ publicUrl }: Site) => publicUrl.hostname

/** Options for `navigator.credentials.create`, with a new challenge. */
export async function createRegistrationOptions(
  site: Site,
  user: { id: number; email: string; name: string },
  existing: readonly Passkey[],
) {
  const { generateRegistrationOptions } = await load()
  return generateRegistrationOptions({
    rpID: toRelyingParty(site),
    rpName: 'Berth',
    userID: new TextEncoder().encode(`berth:${user.id}`),
    userName: user.email,
    userDisplayName: user.name,
    attestationType: 'none',
    excludeCredentials: existing.map(toDescriptor),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
  })
}

/** Options for `navigator.credentials.get`, with a new challenge. */
export async function createRequestOptions(site: Site, existing: readonly Passkey[]) {
  const { generateAuthenticationOptions } = await load()
  return generateAuthenticationOptions({
    rpID: toRelyingParty(site),
    allowCredentials: existing.map(toDescriptor),
    userVerification: 'preferred',
  })
}

/** Verifies a new credential; null if it is invalid. The caller must check the returned challenge. */
export async function verifyRegistration(site: Site, response: RegistrationResponseJSON) {
  const { verifyRegistrationResponse } = await load()
  const { expectations, readChallenge } = expectSite(site)
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      ...expectations,
    })
    return verified ? { challenge: readChallenge(), credential: registrationInfo.credential } : null
  } catch {
    // The library throws on anything that is not as it should be.
    return null
  }
}

/** Verifies a signature; null if it is invalid. The caller must check the challenge and the counter. */
export async function verifySignature(site: Site, passkey: Passkey, response: AuthenticationResponseJSON) {
  const { verifyAuthenticationResponse } = await load()
  const { expectations, readChallenge } = expectSite(site)
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      ...expectations,
      credential: {
        id: passkey.credential_id,
        publicKey: Uint8Array.from(passkey.public_key),
        counter: passkey.sign_count,
      },
    })
    return verified ? { challenge: readChallenge(), signCount: authenticationInfo.newCounter } : null
  } catch {
    // The library throws on anything that is not as it should be, such as a counter that went back.
    return null
  }
}

/** What a response must match, apart from its challenge, which is read for the caller to check. */
function expectSite(site: Site) {
  let challenge = ''
  const expectations = {
    expectedChallenge: (signed: string) => {
      challenge = signed
      return true
    },
    expectedOrigin: site.publicUrl.origin,
    expectedRPID: toRelyingParty(site),
    requireUserVerification: false,
  }
  return { expectations, readChallenge: () => challenge }
}

function toDescriptor({ credential_id: id, transports }: Passkey) {
  return { id, transports: transports as never[] }
}
