import { schemaName } from '../../../payment-sandbox/src/database.ts'
import type { SandboxDatabase } from '../../../payment-sandbox/src/database.ts'
import type { ObjectType, ObjectTypes } from '../../../payment-sandbox/src/object-types.ts'
import { listObjects } from '../../../payment-sandbox/src/objects.ts'
import type { Application } from '../../src/wiring/application.ts'

type Deps = Pick<Application, 'db' | 'paymentSandbox'>

/** Calls the payment sandbox's REST API as Stripe's clients do; `form` is sent as a form. */
export async function callSandbox(
  { paymentSandbox }: Deps,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  form?: Record<string, string>,
): Promise<any> {
  const { fetch, apiKey } = paymentSandbox!
  const answer = await fetch(`http://sandbox${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
  })
  const body = await answer.json()
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${JSON.stringify(body)}`)
  return body
}

/** The payment sandbox's tables, for what its API does not offer. */
export function openSandboxTables({ db }: Deps): SandboxDatabase {
  return (db as unknown as SandboxDatabase).withSchema(schemaName)
}

/** The payment sandbox's objects of a type, of one customer or of all. */
export function listSandboxObjects<T extends ObjectType>(
  deps: Deps,
  type: T,
  customer?: string,
): Promise<ObjectTypes[T][]> {
  return listObjects(openSandboxTables(deps), type, { customer })
}
