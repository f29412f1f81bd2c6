export interface Operation {
  method: string
  /** With parameters in braces */
  path: string
  isPublic: boolean
  queryParameters: string[]
  /** Top-level fields of the body; null if the operation takes no body */
  bodyFields: string[] | null
  description: any
}

/** Lists every operation of an OpenAPI document. */
export function listOperations(document: any): Operation[] {
  return Object.entries<Record<string, any>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, description]): Operation => {
      const schema = description.requestBody?.content['application/json'].schema
      const body = schema?.$ref === undefined ? schema : resolveReference(document, schema.$ref)
      return {
        method: method.toUpperCase(),
        path,
        isPublic: description.security?.length === 0,
        queryParameters: (description.parameters ?? [])
          .filter((parameter: any) => parameter.in === 'query')
          .map((parameter: any) => parameter.name),
        bodyFields: body === undefined ? null : Object.keys(body.properties ?? {}),
        description,
      }
    }),
  )
}

function resolveReference(document: any, reference: string): any {
  return reference
    .slice(2)
    .split('/')
    .reduce((value, key) => value[key], document)
}
