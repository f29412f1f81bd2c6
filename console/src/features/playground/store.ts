import { useSyncExternalStore } from 'react'

/** An immutable value outside of React that components can subscribe to. */
export interface Store<State> {
  get: () => State
  set: (change: (state: State) => State) => void
  subscribe: (listener: () => void) => () => void
}

export function createStore<State>(initial: State): Store<State> {
  let state = initial
  const listeners = new Set<() => void>()
  return {
    get: () => state,
    set(change) {
      const next = change(state)
      if (next === state) return
      state = next
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Subscribes to a part of the store. `select` must return the same object for the same state. */
export function useStore<State, Selected>(store: Store<State>, select: (state: State) => Selected): Selected {
  return useSyncExternalStore(store.subscribe, () => select(store.get()))
}
