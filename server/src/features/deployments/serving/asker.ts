import type { Person, Viewer } from '../../../base/viewer.ts'

/** The person who asks for a model: the viewer, or the person that a program names. */
export interface Asker {
  viewer: Viewer
  /** The member whom the program named, with the standing in its organization; null without one */
  member: Person | null
  /** The program's name for a person outside the organization; null without one */
  outsideName: string | null
}

/** Whose turns, limits and usage a request counts for. */
export function userIdOf({ viewer, member }: Asker): number {
  return (member ?? viewer).userId
}

/** All need access: the program's own rights limit those of the person that it names. */
export function personsOf({ viewer, member }: Asker): Person[] {
  return member === null ? [viewer] : [viewer, member]
}
