import type { z } from 'zod'
import type { ModelType } from '../../../ports/model-variant.ts'
import type { EngineRoute, MeaningfulField, TokenCounts } from '../../../ports/runtime-engine.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { ChatForm } from '../../../ports/runtime-engine.ts'
import type { Edit, ReadBody } from './body-edits.ts'
import type { MediaFormat } from './media-formats.ts'

/** The difference between inference routes. The gateway knows a protocol only by these facts. */
export interface Protocol {
  /** Path of the route in Berth */
  readonly path: string
  /** Path of the route below the address of an engine */
  readonly enginePath: string
  /** The route that an engine must have; null if every engine has it */
  readonly route: EngineRoute | null
  /** True if requests are translated for every engine, because engines' forms differ; absent for false */
  readonly alwaysTranslates?: true
  /** How to serve the route by another one of engines that don't have it, the preferred way first */
  readonly translations: readonly Translation[]
  /** For the OpenAPI description */
  readonly description: RouteDescription
  /** OpenTelemetry's `gen_ai.operation.name` */
  readonly operation: string
  /** Types of the models that the route serves */
  readonly modelTypes: readonly ModelType[]
  /** A request's top-level members besides `model` and `stream`: lowercase letters and underscores. */
  readonly members: readonly string[]
  /** Top-level members that may be long: `array`, `text` or `other`. `edit` may look at the bytes. */
  readonly unparsed?: readonly string[]
  /** Fields that change what a response means; those of requests for texts if absent */
  readonly meaningfulFields?: readonly MeaningfulField[]
  /** The top-level member that is a text or a list of texts; its value is their number */
  readonly texts?: string
  /** The top-level member with a conversation's messages in order; absent without conversations */
  readonly messages?: string
  /** The top-level member that must not be missing or an empty list; absent for none */
  readonly input?: { readonly member: string; readonly mayBeText: boolean }
  /** Top-level members with an answer's most tokens, limited to the engine's context; absent for none */
  readonly outputLimits?: readonly string[]
  /** True for a request that engines with the route don't do in full; absent if they do all requests */
  readonly prefersTranslation?: (body: ReadBody) => boolean
  /** Where requests have addresses of media; as in OpenAI's API if absent */
  readonly media?: MediaFormat
  /** Returns the changes for the engine besides the model's name, or throws the 400 of the protocol. */
  readonly edit: (body: ReadBody) => Edit[]
  /** Returns what changes a request for engines that don't do all it asks for; absent if nothing does. */
  readonly fit?: (body: ReadBody) => Fitting | null
  /** The route of engines that reads the body of a request and counts its prompt; null for none */
  readonly countedAt: '/tokenize' | '/v1/messages/count_tokens' | null
  readonly bodies: BodyFormat
  /** null if engines never respond with events */
  readonly events: EventFormat | null
  /** The event that keeps a stream open; absent for a comment */
  readonly keepAlive?: CallerEvent
  /** Returns an event's data with a part of the model's thoughts; absent if streams have none */
  readonly composeThought?: (text: string, facts: { id: string; model: string }) => JsonObject
  readonly errors: ErrorFormat
}

/** Returns the changes of a request for engines of a form. Throws the caller's 400. */
export type Fitting = (form: ChatForm, engineTitle: string) => readonly Edit[]

/** A way to serve a route by another one of an engine. */
export interface Translation {
  /** The protocol of the engine's route */
  readonly via: Protocol
  /** The members, at any depth, whose text reaches the engine as the caller wrote it; absent for none */
  readonly sources?: readonly string[]
  /** Translates a request, or throws the caller's 400 that names a field. */
  readonly translate: (request: JsonObject, facts: DeploymentFacts) => TranslatedRequest
}

/** What a translation may need to know about the deployment. */
export interface DeploymentFacts {
  /** null when unknown */
  readonly contextTokens: number | null
  /** False if the engine surely refuses images */
  readonly seesImages: boolean
}

export type JsonObject = Readonly<Record<string, unknown>>

/** The caller's paths of fields, by their paths in the engine's request */
export type CallerPaths = ReadonlyMap<string, string>

/** The body of a chat completion, and what its fields are called in the caller's request. */
export interface ChatRequest {
  readonly body: JsonObject
  readonly paths: CallerPaths
}

export interface TranslatedRequest {
  readonly body: JsonObject
  readonly answers: AnswerTranslation
}

/** Translates the response to one request. */
export interface AnswerTranslation {
  /** For errors that name a field; absent if the names are the same */
  readonly paths?: CallerPaths
  /** Translates a whole response. */
  readonly toBody: (answer: unknown) => JsonObject
  /** Opens the translation of a stream; null if the engine never streams. */
  readonly openEvents: (() => EventTranslation) | null
}

/** Translates a stream event by event, in constant memory. */
export interface EventTranslation {
  /**
   * Takes an event's data and what was counted so far, and returns the caller's events. Throws if the
   * engine's make no sense.
   */
  take(event: unknown, usage: TokenUsage | null): readonly CallerEvent[]
  /** Returns the last events when the engine's stream has ended. */
  finish(usage: TokenUsage | null): readonly CallerEvent[]
}

/** One server-sent event. */
export interface CallerEvent {
  readonly name: string
  readonly data: JsonObject
}

export interface RouteDescription {
  readonly operationId: string
  readonly summary: string
  /** Documentation only: the engine validates requests. */
  readonly request: z.ZodType
  readonly response: z.ZodType
  /** The `data` of each event, and what else a reader of the stream meets; null without streams */
  readonly events: { readonly data: z.ZodType; readonly note: string } | null
}

/** The values of the members that a protocol reads, by name; of duplicates the last one, as engines do */
export type MemberValues = Readonly<Record<string, unknown>>

/** The format of responses that are one JSON document. */
export interface BodyFormat {
  /** The names that lead to the object with the usage; null if the route uses no tokens */
  readonly usageAt: MemberPath | null
  /** The names of the same in the answers of other engines; absent if all have it at `usageAt` */
  readonly otherUsageAt?: MemberPath
  /** Reads that object; null when it is implausible. */
  readonly readUsage: (usage: Readonly<Record<string, unknown>>) => TokenUsage | null
  /** Returns what checks a response; absent for none */
  readonly openCheck?: (values: MemberValues) => BodyCheck
  /** Returns what changes the rest of a response for the caller; null if it is forwarded unchanged. */
  readonly openRewriter: (values: MemberValues) => BodyRewriter | null
}

/** The format of responses that are server-sent events, each with a JSON document. */
export interface EventFormat {
  /** The count at each event's end, by what it counts; absent if only a few events have counts */
  readonly counted: Readonly<Partial<Record<TokenCounts['inEvents'], MemberCount>>>
  /** The end of the name of the member with the count in those few events, and a quote */
  readonly countMark: string
  /** Reads an event's counts, which replace earlier ones; null without plausible ones. */
  readonly readUsage: (event: unknown) => Partial<TokenUsage> | null
  /** Occurs once in each event with generated text; these count as tokens if the engine counts none */
  readonly chunkMark: string
  /** Whether an event has no text, by what follows its mark at `at`; null if all marked events have some */
  readonly isEmptyChunk: ((events: string, at: number) => boolean) | null
  /** Returns what adds up the counts of a response with several choices; null if one event has all counts. */
  readonly openChoices: (values: MemberValues, inEvents: TokenCounts['inEvents']) => ChoiceCounts | null
  /** Returns what to remove from events, because only Berth asked the engine for it; null for nothing. */
  readonly openRemoval: (values: MemberValues, inEvents: TokenCounts['inEvents']) => EventRemoval | null
  /** How a stream ends; absent if it has no certain end */
  readonly end?: StreamEnd
}

/** How a stream ends, by texts with quotes outside of strings. */
export interface StreamEnd {
  /** A complete answer has one of these texts */
  readonly complete: readonly string[]
  /** Or one of these, in the last 500 characters: searching all of a stream for them would take too long */
  readonly lastComplete?: readonly string[]
  /** An error of the engine has one of these there */
  readonly failed: readonly string[]
  /** The shape of errors in the stream */
  readonly errors: ErrorFormat
  /** Whether the caller asked for an event with the usage; absent if streams always have it */
  readonly wantsUsage?: (values: MemberValues) => boolean
  /** Composes that event after the first one of the stream. */
  readonly composeUsage?: (first: unknown, usage: TokenUsage) => JsonObject
}

/** A member of events that has a count. */
export interface MemberCount {
  readonly member: string
  /** The ends of the names of members with counts, each with its quote. Events without one are not read. */
  readonly marks: readonly string[]
  /** Returns null for an implausible count. */
  readonly read: (count: JsonObject) => TokenUsage | null
}

/** Adds up the counts of a stream with several choices. */
export interface ChoiceCounts {
  /** Takes an event and what it counted. Returns the usage of all choices so far. */
  add(event: unknown, usage: Partial<TokenUsage> | null): Partial<TokenUsage> | null
}

/** What the caller of a stream does not get. */
export interface EventRemoval {
  /** Whether the count is cut from each event with choices */
  readonly cutsCounts: boolean
  /** Whether null stands in the place of a count, as in OpenAI's streams whose last chunk has the usage */
  readonly leavesNull: boolean
  /** Decides about an event: it loses its count, is dropped, or stays unchanged. */
  readonly judge: (event: unknown) => 'keep' | 'cut' | 'drop'
}

/** The names of members, from the outermost inwards. */
export type MemberPath = readonly [string, ...string[]]

/** Checks a body before the caller has its end. Throws an `InvalidResponse`. */
export interface BodyCheck {
  take(piece: Buffer): void
  finish(): void
}

/** Changes a forwarded body. Texts have one character per byte. */
export interface BodyRewriter {
  take(bytes: string): string
  /** Returns the remaining bytes at the end of the body. */
  finish(): string
}

/** An error of Berth or of an engine. */
export interface ErrorFacts {
  status: number
  code: string
  detail: string
  /** `param` is the invalid field */
  facts?: Readonly<Record<string, unknown>> | undefined
}

/** The shape in which callers of a route expect errors. */
export interface ErrorFormat {
  /** For the OpenAPI description */
  readonly body: z.ZodType
  readonly compose: (error: ErrorFacts, requestId: string) => { status: number; body: unknown }
  /** A header of all responses with the id of the request, besides `x-request-id`; absent for none */
  readonly requestIdHeader?: string
  /** The event with the error in a stream; absent if its data is the body, and it has no name */
  readonly toEvent?: (body: unknown) => CallerEvent
  /** True for an engine's error of this shape. Absent if engines' errors stay unchanged. */
  readonly isOwn?: (body: unknown) => boolean
}

/** The protocol that engines of one model type always have. */
export interface MainProtocol extends Protocol {
  /** What a model of this type is called in a sentence */
  readonly modelKind: string
  /** The request that proves that an engine works */
  readonly warmUp: {
    /** Members next to `model` */
    readonly input: Readonly<Record<string, unknown>>
    /** The member of the response with a list of results */
    readonly results: string
  }
}
