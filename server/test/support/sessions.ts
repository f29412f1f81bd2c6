import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import type { Database } from '../../src/database/tables.ts'
import { serverActor } from '../../src/base/viewer.ts'
import { startSession } from '../../src/features/sessions/start-session.ts'
import type { TestServer } from './server.ts'

/** Ends every new session immediately until the test finishes, as a concurrent password reset does. */
export async function endSessionsAtOnce(db: Database): Promise<void> {
  onTestFinished(async () => {
    await sql`DROP FUNCTION IF EXISTS end_session() CASCADE`.execute(db)
  })
  await sql`
    CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM sessions WHERE id = NEW.id;
      RETURN NULL;
    END
    $$`.execute(db)
  await sql`
    CREATE TRIGGER sessions_end_at_once AFTER INSERT ON sessions
    FOR EACH ROW EXECUTE FUNCTION end_session()`.execute(db)
}

/** Starts a session for a user without a sign-in, and returns its token. */
export async function openSession(
  { application }: Pick<TestServer, 'application'>,
  userId: number,
  authMethod = 'password',
): Promise<string> {
  const session = { userId, authMethod, replaces: null }
  const { token } = await application.db
    .transaction()
    .execute((transaction) => startSession(application, transaction, serverActor, session))
  return token
}
