/** One thing that `doctor` checked. `remedy` is null if all is well. */
export interface Finding {
  subject: string
  state: string
  remedy: string | null
}
