import { randomBytes } from 'node:crypto'
import type { Browser } from '../support/browser.ts'

const password = 'a password at Keycloak'

/** A new realm in the Keycloak that `npm run test:keycloak` started. */
export interface Realm {
  issuer: string
  client: { id: string; secret: string }
  /** Registers Berth, with its public address and the address that Keycloak reaches it at. */
  registerClient(site: string, serverUrl: string): Promise<void>
  /** Adds a person with a verified email and returns their id. */
  addUser(email: string): Promise<string>
  changeUser(id: string, changes: object): Promise<void>
  /** Makes a person a member of this group only, which is created if it is missing. */
  setGroup(id: string, group: string): Promise<void>
  /** Ends the person's sessions at Keycloak. */
  logOut(id: string): Promise<void>
  /** Signs in with the form of Keycloak and returns the response of Berth's callback. */
  signIn(browser: Browser, email: string): ReturnType<Browser['open']>
}

export async function createRealm(address: string): Promise<Realm> {
  const name = `berth-${randomBytes(4).toString('hex')}`
  const client = { id: 'berth', secret: randomBytes(16).toString('hex') }

  async function call(method: string, path: string, body?: unknown): Promise<Response> {
    const response = await fetch(`${address}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${await readToken(address)}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    if (!response.ok)
      throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`)
    return response
  }

  const readNamed = async (path: string) =>
    (await (await call('GET', path)).json()) as { id: string; name: string }[]

  await call('POST', '', { realm: name, enabled: true })
  return {
    issuer: `${address}/realms/${name}`,
    client,
    async registerClient(site, serverUrl) {
      await call('POST', `/${name}/clients`, {
        clientId: client.id,
        secret: client.secret,
        publicClient: false,
        redirectUris: [`${site}/v1/sso/callback/oidc`],
        attributes: {
          'backchannel.logout.url': `${serverUrl}/v1/sso/backchannel-logout/oidc`,
          'backchannel.logout.session.required': 'true',
          'post.logout.redirect.uris': `${site}/v1/sso/callback/oidc`,
        },
        protocolMappers: [
          {
            name: 'groups',
            protocol: 'openid-connect',
            protocolMapper: 'oidc-group-membership-mapper',
            config: { 'claim.name': 'groups', 'full.path': 'false', 'id.token.claim': 'true' },
          },
        ],
      })
    },
    async addUser(email) {
      const credentials = [{ type: 'password', value: password, temporary: false }]
      const person = { email, emailVerified: true, enabled: true, firstName: 'Ada', lastName: 'Lovelace' }
      const username = randomBytes(6).toString('hex')
      const response = await call('POST', `/${name}/users`, { username, ...person, credentials })
      return response.headers.get('location')!.split('/').at(-1)!
    },
    changeUser: async (id, changes) => void (await call('PUT', `/${name}/users/${id}`, changes)),
    async setGroup(id, group) {
      await call('POST', `/${name}/groups`, { name: group }).catch((error: unknown) => {
        if (!String(error).includes('409')) throw error
      })
      const groups = await readNamed(`/${name}/groups`)
      for (const { id: other } of await readNamed(`/${name}/users/${id}/groups`)) {
        await call('DELETE', `/${name}/users/${id}/groups/${other}`)
      }
      await call('PUT', `/${name}/users/${id}/groups/${groups.find((each) => each.name === group)!.id}`)
    },
    logOut: async (id) => void (await call('POST', `/${name}/users/${id}/logout`)),
    async signIn(browser, email) {
      const { location } = await browser.open('/v1/sso/login/oidc')
      const form = await browser.open(location)
      const action = /<form[^>]*action="([^"]+)"/.exec(form.body)?.[1]?.replaceAll('&amp;', '&')
      if (action === undefined) throw new Error(`no form of Keycloak: ${form.status} ${form.body}`)
      const answer = await browser.submit(action, { username: email, password })
      if (answer.location === '') throw new Error(`Keycloak refused: ${answer.status} ${answer.body}`)
      return browser.open(answer.location)
    },
  }
}

/** A new token, because tokens of the admin live for a minute. */
async function readToken(address: string): Promise<string> {
  const response = await fetch(`${address}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'admin-cli',
      username: 'admin',
      password: 'admin',
    }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}
