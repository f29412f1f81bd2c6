import { ApiError } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { storeSession } from '../api/session-store.ts'
import type { Context } from '../base/context.ts'

/** Ends the session at the server, and forgets it. */
export async function logout({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  try {
    await client.call('POST', '/v1/user/logout')
  } catch (error) {
    // The session had ended already.
    if (!(error instanceof ApiError && error.code === 'not_authenticated')) throw error
  }
  if (!env['BERTH_SESSION']) await storeSession(env, client.url, null)
  output.note(`Signed out of ${client.url}.`)
}
