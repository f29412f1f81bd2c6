import { createClient } from './client.ts'
import type { Client } from './client.ts'

/** A service member with its password. */
export interface ServiceAccount {
  id: number
  user_id: number
  email: string
  password: string
}

/** Creates a service member of an admin's organization, which may work from this machine. */
export async function createService(
  admin: Client,
  details: {
    name?: string
    role?: string
    allowed_networks?: string[]
    may_name_members?: boolean
    member_header?: string
  } = {},
): Promise<ServiceAccount> {
  const body = { name: 'Nightly report', role: 'member', allowed_networks: ['127.0.0.0/8'], ...details }
  const answer = await admin.post('/v1/organization/service-members', body)
  if (answer.status !== 200)
    throw new Error(`the creation returned ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Signs in as a service member, as a program does, and returns the response. */
export async function signInService(url: string, { email, password }: ServiceAccount, address?: string) {
  const client = createClient(url)
  const headers = address === undefined ? {} : { 'x-forwarded-for': address }
  return { client, answer: await client.request('POST', '/v1/user/signin', { email, password }, headers) }
}

/** A client with a new session of a service member. */
export async function openService(url: string, service: ServiceAccount): Promise<Client> {
  const { client, answer } = await signInService(url, service)
  if (answer.status !== 200)
    throw new Error(`the sign-in returned ${answer.status}: ${JSON.stringify(answer.body)}`)
  return client
}
