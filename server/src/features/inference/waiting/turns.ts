/** Tokens that each member may use in a round before the others have had theirs. */
const quantum = 1_000

/** A request at a deployment, with what its caller has used. */
export interface TurnRequest {
  readonly userId: number
  /** An estimate of the prompt's tokens, known when the request is sent */
  readonly promptTokens: number
  /** The tokens that were generated so far, as far as the response tells */
  generatedTokens(): number
}

/**
 * Turns at a deployment, by deficit round robin over tokens (Shreedhar, Varghese: "Efficient Fair Queuing
 * using Deficit Round Robin", SIGCOMM 1995). Tokens are charged during generation, so an account may become
 * negative; its member then has no turn until enough rounds have passed. A turn is one request: a new member
 * waits for at most one request of each other member. Nothing is charged while no member waits.
 */
export class Turns {
  /** The tokens that each member may still use, in the order of their turns */
  readonly #credits = new Map<number, number>()
  /** Requests at the deployment, with the generated tokens that were charged */
  readonly #open = new Map<TurnRequest, number>()

  /** Nobody waits and no request is at the deployment */
  get isIdle(): boolean {
    return this.#open.size === 0 && this.#credits.size === 0
  }

  /** The request was sent to the deployment. */
  enter(request: TurnRequest): void {
    this.#open.set(request, 0)
    this.#charge(request.userId, request.promptTokens)
  }

  /** The request has left the deployment. */
  leave(request: TurnRequest): void {
    this.#chargeGenerated(request)
    this.#open.delete(request)
  }

  /** Nobody waits: forgets what each member has used. */
  rest(): void {
    this.#credits.clear()
  }

  /** Returns which of the waiting members is next, and ends their turn. At least one must wait. */
  next(waiting: Iterable<number>): number {
    const members = new Set(waiting)
    for (const request of this.#open.keys()) this.#chargeGenerated(request)
    this.#updateMembers(members)
    const candidates = [...this.#credits].filter(([userId]) => members.has(userId))
    if (candidates.every(([, credit]) => credit <= 0)) {
      this.#beginRounds(Math.min(...candidates.map(([, credit]) => Math.floor(-credit / quantum) + 1)))
    }
    const [userId] = candidates.find(([each]) => this.#credits.get(each)! > 0)!
    const credit = this.#credits.get(userId)!
    this.#credits.delete(userId)
    this.#credits.set(userId, credit)
    return userId
  }

  /** Members who neither wait nor have a request at the deployment lose their account; new ones come last. */
  #updateMembers(waiting: ReadonlySet<number>): void {
    const busy = new Set([...this.#open.keys()].map(({ userId }) => userId))
    for (const userId of this.#credits.keys()) {
      if (!waiting.has(userId) && !busy.has(userId)) this.#credits.delete(userId)
    }
    for (const userId of [...busy, ...waiting]) {
      if (!this.#credits.has(userId)) this.#credits.set(userId, quantum)
    }
  }

  #beginRounds(count: number): void {
    for (const [userId, credit] of this.#credits) {
      this.#credits.set(userId, Math.min(quantum, credit + count * quantum))
    }
  }

  #chargeGenerated(request: TurnRequest): void {
    const charged = this.#open.get(request)
    if (charged === undefined) return
    const generated = Math.max(charged, request.generatedTokens())
    this.#open.set(request, generated)
    this.#charge(request.userId, generated - charged)
  }

  #charge(userId: number, tokens: number): void {
    const credit = this.#credits.get(userId)
    if (credit !== undefined) this.#credits.set(userId, credit - tokens)
  }
}
