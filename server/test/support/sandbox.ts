import type { TestServer } from './server.ts'

/** Asks the payment sandbox's REST API as Stripe's own clients do; `form` is sent as a form. */
export async function askSandbox(
  { application }: Pick<TestServer, 'application'>,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  form?: Record<string, string>,
): Promise<any> {
  const { api, apiKey } = application.paymentSandbox!
  const reply = await api.inject({
    method,
    url: path,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(form === undefined ? {} : { payload: new URLSearchParams(form).toString() }),
  })
  if (reply.statusCode !== 200)
    throw new Error(`${method} ${path} was answered ${reply.statusCode}: ${reply.body}`)
  return reply.json()
}
