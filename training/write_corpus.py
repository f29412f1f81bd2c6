"""Writes the training dialogues (build/corpus.jsonl) and prompts that these leave out: for tuning (build/validation.jsonl), and for a
check of the finished model (build/held-out.jsonl). The output is deterministic."""

import json
import random
from pathlib import Path
from zlib import crc32

import kinds
import kinds_in_context as context

HERE = Path(__file__).parent
SEED = 8
DIALOGUES = 300_000
LONG_DIALOGUES = 1_500
# Prompts per kind in the validation part and in the held-out part.
KEPT = 30
# Sampling weight of each kind: higher for hard kinds, lower for long ones.
WEIGHTS = {'greet': 2, 'identity': 5, 'count': 10, 'add': 24, 'subtract': 26, 'opposite': 5, 'calendar': 5, 'colour': 3, 'capital': 6,
           'yes_no': 32, 'repeat': 25, 'reverse': 33, 'named': 7, 'memory': 7, 'story': 4, 'json': 11, 'tool': 10, 'tool_result': 1,
           'unknown': 4}
# Kinds with enough different questions to hold out one in sixteen; the others hold out one in eight.
OPEN = {'count', 'add', 'subtract', 'yes_no', 'repeat', 'reverse', 'story', 'json', 'tool', 'tool_result', 'unknown'}
SYSTEM = ['You are a helpful assistant.', 'You are a helpful assistant.', 'You are a helpful assistant.', 'Be brief.',
          'You are a friendly assistant.', 'Answer the question.', 'You are a helpful AI assistant. Answer briefly.',
          'You are an assistant.', 'Help the user.']
MAKERS = {'greet': kinds.greet, 'identity': kinds.identity, 'count': kinds.count, 'add': kinds.add, 'subtract': kinds.subtract,
          'opposite': kinds.opposite, 'calendar': kinds.calendar, 'colour': kinds.colour, 'capital': kinds.capital,
          'yes_no': context.yes_no, 'repeat': context.repeat, 'reverse': context.reverse, 'named': context.named,
          'story': context.story, 'json': context.extract, 'tool': context.call_tool, 'tool_result': context.tool_result,
          'unknown': context.unknown}
FILLERS = ['greet', 'identity', 'add', 'opposite', 'capital', 'colour', 'calendar', 'count', 'yes_no', 'unknown']


def part_of(kind, key):
    """Returns the fixed part of a question: 'held-out', 'validation' or 'training'."""
    share = crc32(f'{kind}: {key}'.lower().encode()) % (16 if kind in OPEN else 8)
    return {0: 'held-out', 1: 'validation'}.get(share, 'training')


def draw(r, kind, part):
    """Draws a sample of a kind from one part."""
    while True:
        if kind == 'memory':
            made = context.memory(r, lambda: draw(r, r.choice(FILLERS), 'training')['turns'])
        else:
            made = MAKERS[kind](r)
        if part_of(kind, made['key']) == part:
            return {'kind': kind, **made}


def vary(r, prompt, literal):
    """Rewrites the prompt as a person in a hurry types it. Literal prompts keep their letters."""
    roll = r.random()
    if roll < 0.6:
        return prompt
    if roll < 0.7 and prompt[0].isupper() and prompt.split()[0] != 'I':
        prompt = prompt[0].lower() + prompt[1:] if literal or r.random() < 0.5 else prompt.lower().rstrip('.?!')
    elif roll < 0.78 and not literal:
        prompt = prompt.rstrip('.?!') if r.random() < 0.7 else prompt + r.choice(['!', ' ?', '??'])
    elif roll < 0.86:
        lead = r.choice(['Hello! ', 'Hi, ', 'Please: ', 'Hey. ', 'Question: ', 'One more: ', 'And now: ', 'Okay. ', 'Well, '])
        prompt = lead + prompt
    elif roll < 0.92 and not literal and r.random() < 0.5:
        prompt += r.choice([' Thanks.', ' Thank you!', ' Please.', ' Answer briefly.'])
    elif roll < 0.95 and not literal:
        parts = prompt.split(' ')
        place = r.randrange(len(parts))
        if len(parts) > 3 and parts[place].isalpha() and parts[place].islower() and len(parts[place]) > 3:
            cut = r.randrange(1, len(parts[place]) - 2)
            word = parts[place]
            parts[place] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2:]
        prompt = ' '.join(parts)
    elif not literal:
        prompt = prompt.lower()
    return prompt


def to_messages(r, made, varied=True):
    messages = []
    for index, turn in enumerate(made['turns']):
        if isinstance(turn, dict):
            messages.append(turn)
        elif messages and messages[-1]['role'] in ('user', 'tool'):
            messages.append({'role': 'assistant', 'content': turn})
        else:
            literal = made.get('literal') or made['kind'] in ('memory', 'yes_no') or len(made['turns']) > 2
            messages.append({'role': 'user', 'content': vary(r, turn, literal) if varied else turn})
    return messages


def write_dialogue(r, turns):
    """A dialogue of one or more samples in sequence. A sample's system prompt applies to the whole dialogue."""
    made = draw(r, r.choices(list(WEIGHTS), WEIGHTS.values())[0], 'training')
    system = made.get('system') or (r.choice(SYSTEM) if r.random() < 0.3 else None)
    messages = [{'role': 'system', 'content': system}] if system else []
    tools = made.get('tools', [])
    before = [draw(r, r.choice(FILLERS + ['repeat', 'reverse', 'story', 'memory']), 'training') for _ in range(turns - 1)]
    for sample in [*before, made] if 'system' not in made or r.random() < 0.5 else [made]:
        messages += to_messages(r, sample)
    # Some questions list tools without needing any.
    if not tools and made['kind'] not in ('named', 'json', 'unknown') and r.random() < 0.04:
        tools = draw(r, 'tool', 'training')['tools']
    return {'kind': made['kind'], 'messages': messages, **({'tools': tools} if tools else {})}


def keep_apart(r, part):
    """Draws a few dozen prompts per kind from a part, with their answers."""
    seen = set()
    for kind in WEIGHTS:
        found = 0
        for _ in range(4_000):
            made = draw(r, kind, part)
            messages = to_messages(r, made, varied=False)
            text = json.dumps(messages[:-1]).lower()
            if found == KEPT or text in seen:
                continue
            seen.add(text)
            found += 1
            system = [{'role': 'system', 'content': made['system']}] if made.get('system') else []
            tools = {'tools': made['tools']} if made.get('tools') else {}
            yield {'kind': kind, 'messages': system + messages[:-1], 'answer': messages[-1]['content'], **tools}


def main():
    r = random.Random(SEED)
    build = HERE / 'build'
    build.mkdir(exist_ok=True)
    kept = {part: list(keep_apart(r, part)) for part in ('held-out', 'validation')}
    for part, records in kept.items():
        with open(build / f'{part}.jsonl', 'w') as file:
            file.writelines(json.dumps(record) + '\n' for record in records)
    asked = {(record['messages'][-1]['content'].lower(), record['answer']) for records in kept.values() for record in records
             if len(record['messages']) < 3}
    with open(build / 'corpus.jsonl', 'w') as corpus:
        for index in range(DIALOGUES + LONG_DIALOGUES):
            turns = 1 if r.random() < 0.8 else r.randint(2, 4)
            dialogue = write_dialogue(r, turns if index < DIALOGUES else r.randint(12, 24))
            messages = dialogue['messages']
            if not any(question['role'] == 'user' and (question['content'].lower(), answer['content']) in asked
                       for question, answer in zip(messages, messages[1:])):
                corpus.write(json.dumps(dialogue) + '\n')


if __name__ == '__main__':
    main()
