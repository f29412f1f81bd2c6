import type { paths } from './contract.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Operations<M extends Method> = {
  [
    Path in keyof paths as paths[Path] extends Record<Lowercase<M>, object> ? Path : never
  ]: paths[Path] extends Record<Lowercase<M>, infer Operation> ? Operation : never
}

/** The paths of the API that have this method, as in `/v1/invitations/{invitation_id}`. */
export type PathOf<M extends Method> = keyof Operations<M> & string

/** The paths whose POST creates something and takes an idempotency key. */
export type CreatingPath = {
  [Path in PathOf<'POST'>]: Operations<'POST'>[Path] extends {
    parameters: { header?: { 'Idempotency-Key'?: string } }
  }
    ? Path
    : never
}[PathOf<'POST'>]

/** The client leaves out undefined members. */
type WithUndefined<Members> = {
  [Name in keyof Members]: Members[Name] | (object extends Pick<Members, Name> ? undefined : never)
}

type PathInput<Operation> = Operation extends { parameters: { path: infer Path } } ? { path: Path } : unknown
type QueryInput<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? { query?: WithUndefined<Query> }
  : unknown
/** Optional bodies count too; an operation without a body has `requestBody?: never`. */
type Request<Operation> = Operation extends { requestBody?: infer Body } ? NonNullable<Body> : never
type BodyInput<Operation> = [Request<Operation>] extends [never]
  ? unknown
  : Request<Operation> extends { content: { 'application/json': infer Body } }
    ? { body: WithUndefined<Body> }
    : unknown

/** The values in an operation's URL. */
export type UrlInput<M extends Method, Path extends PathOf<M>> = PathInput<Operations<M>[Path]> &
  QueryInput<Operations<M>[Path]>

/** The values that an operation takes. */
export type Input<M extends Method, Path extends PathOf<M>> = UrlInput<M, Path> &
  BodyInput<Operations<M>[Path]>

/** A parameter that may be left out if all its members may. */
export type Optional<Members> = object extends Members ? [Members?] : [Members]

type Content<Operation> = Operation extends { responses: { 200: { content: infer Types } } }
  ? Types
  : Operation extends { responses: { 201: { content: infer Types } } }
    ? Types
    : never

/** The media types of an operation's successful response. */
export type MediaTypeOf<M extends Method, Path extends PathOf<M>> = keyof Content<Operations<M>[Path]>

/** The paths whose successful response may have a media type. */
export type PathTo<M extends Method, MediaType extends string> = {
  [Path in PathOf<M>]: MediaType extends MediaTypeOf<M, Path> ? Path : never
}[PathOf<M>]

/** The parsed JSON of an operation's successful response; undefined without a body. */
export type ResponseBody<M extends Method, Path extends PathOf<M>> =
  Content<Operations<M>[Path]> extends { 'application/json': infer Body } ? Body : undefined
