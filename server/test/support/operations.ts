export interface Operation {
  method: string
  /** With parameters in braces */
  path: string
  /** true if it needs no session */
  isPublic: boolean
  queryParameters: string[]
  /** Top-level fields of the body; null if the operation takes no body */
  bodyFields: string[] | null
  /** The responses by status, with references resolved */
  responses: Record<string, any>
  description: any
}

/** Lists every operation of an OpenAPI document. */
export function listOperations(document: any): Operation[] {
  return Object.entries<Record<string, any>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, description]): Operation => {
      const body = resolveReference(document, description.requestBody?.content['application/json']?.schema)
      const responses = Object.entries(description.responses).map(([status, response]) => [
        status,
        resolveReference(document, response),
      ])
      return {
        method: method.toUpperCase(),
        path,
        isPublic: description.security?.every((scheme: object) => !('session' in scheme)) ?? false,
        queryParameters: (description.parameters ?? [])
          .filter((parameter: any) => parameter.in === 'query')
          .map((parameter: any) => parameter.name),
        bodyFields: body === undefined ? null : Object.keys(body.properties ?? {}),
        responses: Object.fromEntries(responses),
        description,
      }
    }),
  )
}

/** What `value` refers to, or `value` itself if it is no reference. */
export function resolveReference(document: any, value: any): any {
  if (value?.$ref === undefined) return value
  return value.$ref
    .slice(2)
    .split('/')
    .reduce((parent: any, key: string) => parent[key], document)
}
