/** The models that users registered with a simulated supervisor, by name. */
export type SimulatedRegistrations = Map<string, Record<string, any>>

/** Answers a request for `/v1/model_registrations`; null for the list, which the simulator doesn't have. */
export function respondToRegistration(
  registered: SimulatedRegistrations,
  method: string,
  path: string,
  body: Record<string, any> | null,
): { status: number; body: unknown } | null {
  const [, , , type, name] = path.split('/')
  const refuse = (detail: string) => ({
    status: 400,
    body: { detail: `[address=127.0.0.1:41000, pid=7] ${detail}` },
  })
  if (method === 'POST' && name === undefined) {
    const model = JSON.parse(body?.['model']) as Record<string, any>
    if (registered.has(model['model_name'])) return refuse(`Model ${model['model_name']} already registered`)
    registered.set(model['model_name'], { ...model, type })
    return { status: 200, body: null }
  }
  if (name === undefined) return null
  if (method === 'DELETE') {
    registered.delete(name)
    return { status: 200, body: null }
  }
  const model = registered.get(name)
  return model === undefined ? refuse(`Model ${name} not found`) : { status: 200, body: model }
}
