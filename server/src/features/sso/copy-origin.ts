import type { DatabaseTransaction } from '../../database/tables.ts'

/** Lets the identity provider end a session together with the one that it was created from. */
export async function copyOrigin(
  transaction: DatabaseTransaction,
  { from, to }: { from: number; to: number },
): Promise<void> {
  await transaction
    .insertInto('sso_sessions')
    .columns(['session_id', 'user_id', 'issuer', 'subject', 'sid'])
    .expression((builder) =>
      builder
        .selectFrom('sso_sessions')
        .select((origin) => [origin.val(to).as('session_id'), 'user_id', 'issuer', 'subject', 'sid'])
        .where('session_id', '=', from),
    )
    .execute()
}
