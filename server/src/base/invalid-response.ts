/** A response of an engine that can't be forwarded. `problem` completes "the engine sent". */
export class InvalidResponse extends Error {
  constructor(problem: string) {
    super(`The engine sent ${problem}.`)
  }
}
