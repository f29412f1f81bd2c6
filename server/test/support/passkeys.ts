import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { Account } from './organizations.ts'

/** What an authenticator does differently from an honest one. */
export interface PasskeyFaults {
  origin?: string
  rpId?: string
  challenge?: string
  /** The counter of the signature; one more than before by default */
  counter?: number
  flags?: number
}

/** An authenticator with one ES256 credential, as WebAuthn Level 3 describes it. */
export interface Authenticator {
  id: string
  /** Creates the credential: the answer of `navigator.credentials.create`. */
  create(options: any, faults?: PasskeyFaults): any
  /** Signs a challenge: the answer of `navigator.credentials.get`. */
  get(options: any, faults?: PasskeyFaults): any
}

const userPresent = 0x01
const userVerified = 0x04
const hasCredential = 0x40

export function createAuthenticator(site: string): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credentialId = randomBytes(32)
  const id = credentialId.toString('base64url')
  let counter = 0

  function clientData(type: string, options: any, faults: PasskeyFaults): Buffer {
    const challenge = faults.challenge ?? options.challenge
    return Buffer.from(JSON.stringify({ type, challenge, origin: faults.origin ?? site, crossOrigin: false }))
  }

  function authenticatorData(rpId: string, flags: number, faults: PasskeyFaults): Buffer {
    counter = faults.counter ?? counter + 1
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    const rpIdHash = sha256(Buffer.from(faults.rpId ?? rpId))
    return Buffer.concat([rpIdHash, Buffer.of(faults.flags ?? flags), count])
  }

  return {
    id,
    create(options, faults = {}) {
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      // COSE_Key in CBOR: {1: 2, 3: -7, -1: 1, -2: x, -3: y}
      const key = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
      ])
      const flags = userPresent | userVerified | hasCredential
      const data = Buffer.concat([
        authenticatorData(options.rp.id, flags, faults),
        Buffer.alloc(16),
        Buffer.of(0, credentialId.length),
        credentialId,
        key,
      ])
      // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
      const attestationObject = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
        Buffer.of(0x58, data.length),
        data,
      ])
      const clientDataJSON = clientData('webauthn.create', options, faults)
      return toJson({ clientDataJSON, attestationObject })
    },
    get(options, faults = {}) {
      const clientDataJSON = clientData('webauthn.get', options, faults)
      const data = authenticatorData(options.rpId, userPresent | userVerified, faults)
      const signature = sign('sha256', Buffer.concat([data, sha256(clientDataJSON)]), privateKey)
      return toJson({ clientDataJSON, authenticatorData: data, signature })
    },
  }

  function toJson(response: Record<string, Buffer>) {
    const encoded = Object.entries(response).map(([name, value]) => [name, value.toString('base64url')])
    return {
      id,
      rawId: id,
      type: 'public-key',
      clientExtensionResults: {},
      response: Object.fromEntries(encoded),
    }
  }
}

/** Adds a passkey to an account. `site` is the origin of PUBLIC_URL. */
export async function addPasskey(
  account: Account,
  site: string,
  name = 'Laptop',
): Promise<Authenticator & { recoveryCodes: string[] | null }> {
  const authenticator = createAuthenticator(site)
  const { password } = account
  const started = await account.post('/v1/user/second-factors/passkeys/start', { password })
  const response = authenticator.create(started.body.options)
  const added = await account.post('/v1/user/second-factors/passkeys', { name, response })
  if (added.status !== 200) throw new Error(`the passkey was refused: ${JSON.stringify(added.body)}`)
  return { ...authenticator, recoveryCodes: added.body.recovery_codes }
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}
