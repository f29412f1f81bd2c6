export interface TurnTask {
  atTurnEnd(): void
}

/** Work that waits for the end of the event loop's turn; see `createTurn`. */
export interface Turn {
  atEnd(task: TurnTask): void
}

/**
 * Puts off what is written until all that the turn has brought is read: what comes for one answer in pieces leaves in one write, and
 * writes that follow upon each other wake their readers once.
 */
export function createTurn(): Turn {
  let tasks: TurnTask[] = []

  function run(): void {
    const due = tasks
    tasks = []
    for (const task of due) task.atTurnEnd()
  }

  return {
    atEnd(task) {
      if (tasks.push(task) === 1) setImmediate(run)
    },
  }
}
