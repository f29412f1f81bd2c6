/** The steps of a tenth of a microsecond that a conversion may take. Several schemas may share them. */
export class WorkBudget {
  #left: number

  constructor(steps: number) {
    this.#left = steps
  }

  /** Takes steps. False once more were taken than there are. */
  take(steps: number): boolean {
    this.#left -= steps
    return this.#left >= 0
  }
}

/** Takes steps of the work that is allowed, or throws. */
export type SpendSteps = (steps: number) => void

/** Allows any work. */
export const freely: SpendSteps = () => {}

/** Takes steps for the value of a keyword. Throws a SchemaTooComplexError that names both. */
export type Spend = (steps: number, path: string, keyword: string) => void
