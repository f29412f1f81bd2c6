import type { RoleName } from '../../src/base/roles.ts'
import type { TestServer } from './server.ts'

/** Changes the role of an account in its only organization. */
export async function setRole({ application }: TestServer, email: string, role: RoleName): Promise<void> {
  const user = application.db.selectFrom('users').select('id').where('email', '=', email)
  await application.db.updateTable('memberships').set({ role }).where('user_id', '=', user).execute()
}
