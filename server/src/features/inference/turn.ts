export interface TurnTask {
  atTurnEnd(): void
}

/** Work that waits for the end of the event loop's turn; see `createTurn`. */
export interface Turn {
  atEnd(task: TurnTask): void
  /** As `atEnd`, but at once if there was nothing to wait for in the turn before, and nothing in this one yet */
  soon(task: TurnTask): void
}

/**
 * Puts off what is written until all that the turn has brought is read: what comes for one answer in pieces leaves in one write, and
 * writes that follow upon each other wake their readers once.
 */
export function createTurn(): Turn {
  let tasks: TurnTask[] = []
  /** Tasks of this turn; the first one makes it known that there is one */
  let count = 0
  /** The last turn that had a task had no other */
  let alone = false

  function end(): void {
    const due = tasks
    tasks = []
    alone = count === 1
    count = 0
    for (const task of due) task.atTurnEnd()
  }

  function begin(): void {
    count += 1
    if (count === 1) setImmediate(end)
  }

  function atEnd(task: TurnTask): void {
    begin()
    tasks.push(task)
  }

  return {
    atEnd,
    soon(task) {
      if (!alone || count > 0) return atEnd(task)
      begin()
      task.atTurnEnd()
    },
  }
}
