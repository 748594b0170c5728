#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""table.py DOCUMENT... -- COMPILER...: what the compiler refuses is what the documents' tables say.

Each call is compiled with each policy, sharing mode and vendor. A table is one whose header begins with "call"; a cell
with "no" means that the compiler refuses the call, with advice. Every call and every vendor is in some table.
"""

import os
import re
import subprocess
import sys
import tempfile

# Where the columns of a table are found: template arguments of the queue.
POLICIES = {
    '`Policy<>`': 'xio::Policy<>',
    '`Trusting`': 'Trusting',
    '`Unchecked`': 'Unchecked',
    '`Deferred`': 'Policy<Deferred<4>>',
    '`WriteThrough`': 'Policy<WriteThrough>',
    '`Notify`': 'Policy<Notify>',
    '`NarrowSlots`': 'Policy<NarrowSlots>',
    '`Unasked`': 'Policy<Unasked>',
    '`RingBy`': 'Policy<RingBy<ShadowDoorbell>>',
    '`Placed`, late': 'Policy<Placed<Memory::host, Memory::device>>',
    '`Placed`, other': 'Policy<Placed<Memory::device, Memory::device>>',
    '`InGpuMemory`': 'Policy<InGpuMemory>',
    '`Notify`, `Placed`, late': 'Policy<Notify, Placed<Memory::host, Memory::device>>',
}
SHARING = ['thread', 'wave', 'block', 'grid']
# Variants stand beside their vendor, see `source()`.
VARIANTS = {'mlx5': {'memory_operations': 'Invalidating', 'doorbell_stride': 'TwoRegisters'}}
VENDORS = {}
for line in subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../scripts/vendors'), '--titles'],
                           check=True, capture_output=True, text=True).stdout.splitlines():
    name, type_, title = line.split(' ', 2)
    VENDORS[title] = type_
    VENDORS.update({f'{title}, `{option}`': f'{name}::Vendor<{variant}>' for option, variant in VARIANTS.get(name, {}).items()})

NVME = {
    'submit': 'q.submit(nvme::read(0, 1), data, until)',
    'try_submit': 'q.try_submit(nvme::read(0, 1), data)',
    'read, write': 'q.read(0, data, until); q.write(0, data, until)',
    'submit with notify()': 'q.submit(nvme::read(0, 1), data, until, Options().notify(told))',
    'submit with keep()': 'q.submit(nvme::read(0, 1), data, until, Options().keep(kept))',
    'submit_batch, wait_batch': 'q.wait_batch(q.submit_batch(nvme::Opcode::read, pieces, 1, until), until)',
    'submit_batch with notify()':
        'q.submit_batch(nvme::Opcode::read, pieces, 1, until, Options().notify(told))',
    'transfer': 'q.transfer(nvme::Opcode::read, pieces, 1, until, told)',
    'wait': 'q.wait(token, until)',
    'wait_all': 'q.wait_all(&token, 1, until)',
    'wait_any': 'q.wait_any(&token, 1, until, which)',
    'test': 'q.test(token)',
    'ended, result': 'q.ended(token); q.result(token, word)',
    'fence': 'q.fence(until)',
    'quiet': 'q.quiet(until)',
    'errors': 'q.errors()',
    'drain': 'q.drain()',
    'process_completions': 'q.process_completions([](const nvme::Completion&) {})',
    'ring, publish_payload': 'q.ring(); q.publish_payload()',
    'flush_inbound': 'q.flush_inbound(until)',
    'session': 'q.session().end()',
}
PAIR = {
    'submit': 'q.submit(work, rdma::OneSge{}, until)',
    'submit with SgeList': 'q.submit(work, rdma::SgeList{}, until)',
    'submit with InlineBytes': 'q.submit(work, rdma::InlineBytes{}, until)',
    'submit with InlineValue': 'q.submit(work, rdma::InlineValue{}, until)',
    'submit with notify()': 'q.submit(work, rdma::OneSge{}, until, Options().notify(told))',
    'try_submit': 'q.try_submit(work, rdma::OneSge{})',
    'submit_batch, wait_batch': 'q.wait_batch(q.submit_batch(rdma::Operation::put, moves, 1, until), until)',
    'put, get': 'q.put(there, data, until); q.get(data, there, until)',
    'put_immediate': 'q.put_immediate(there, data, 1, until)',
    'put_value': 'q.put_value(there, 1, until)',
    'send, send_immediate, send_invalidate':
        'q.send(data, until); q.send_immediate(data, 1, until); q.send_invalidate(data, 1, until)',
    'put_signal of a value': 'q.put_signal(there, data, there, uint64_t{1}, until)',
    'put_signal from memory': 'q.put_signal(there, data, there, data, until)',
    'fetch_add, compare_swap': 'q.fetch_add(there, 1, data, until); q.compare_swap(there, 1, 2, data, until)',
    'wait, wait_all, wait_any': 'q.wait(token, until); q.wait_all(&token, 1, until); q.wait_any(&token, 1, until, which)',
    'test': 'q.test(token)',
    'fence, quiet': 'q.fence(until); q.quiet(until)',
    'ring, drain': 'q.ring(); q.drain()',
    'flush_inbound': 'q.flush_inbound(until)',
    'invalidate': 'q.invalidate(1, until)',
    'session': 'q.session().end()',
}
RECEIVES = {
    'every call': 'q.wait(q.post(data, until), until); q.test(token); q.drain(); q.forget(token)',
}
CALLS = {}
for prefix, calls in (('nvme::Queue', NVME), ('rdma::QueuePair', PAIR), ('rdma::ReceiveQueue', RECEIVES)):
    for name, code in calls.items():
        CALLS[f'{prefix}: {name}'] = code

# Calls of queues that one thread or one wave owns.
EXCLUSIVE = {'nvme::Queue: process_completions', 'nvme::Queue: session', 'rdma::QueuePair: session',
             'rdma::QueuePair: invalidate'}

HEAD = '''#include <xio/xio.hpp>
using namespace xio;
struct Invalidating : mlx5::Options { static constexpr bool memory_operations = true; };
struct TwoRegisters : mlx5::Options { static constexpr uint32_t doorbell_stride = 256; };
extern Deadline until;
extern RegionSpan data;
extern rdma::RemoteSpan there;
extern rdma::Work work;
extern Token token;
extern Notification told;
extern KeptResult kept;
extern nvme::Piece pieces[1];
extern rdma::Piece moves[1];
extern uint32_t which;
extern uint64_t word;
'''


def queue_type(call, column):
    sharing, policy, vendor = ('wave' if call in EXCLUSIVE else 'grid'), 'xio::Policy<>', 'ionic::Vendor<>'
    if column in SHARING:
        sharing = column
    elif column in POLICIES:
        policy = POLICIES[column]
    else:
        vendor = VENDORS[column]
    kind = call.split(': ')[0]
    arguments = f'Sharing::{sharing}, {policy}'
    return f'{kind}<{arguments}>' if kind == 'nvme::Queue' else f'{kind}<{vendor}, {arguments}>'


def tables(path):
    """The rows of the tables of calls: (call, column, whether it is refused)."""
    columns = None
    with open(path, encoding='utf-8') as text:
        for line in text:
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')] if line.startswith('|') else []
            if not cells:
                columns = None
            elif cells[0] == 'call':
                columns = cells[1:]
                unknown = [c for c in columns if c not in POLICIES and c not in SHARING and c not in VENDORS]
                if unknown:
                    sys.exit(f'{path}: unknown columns: {unknown}')
            elif columns and not set(cells[0]) <= set('-: '):
                call = cells[0].replace('`', '')
                if call not in CALLS or len(cells) != len(columns) + 1:
                    sys.exit(f'{path}: no call of table.py, or not a cell for each column: {cells}')
                for column, cell in zip(columns, cells[1:]):
                    if cell not in ('', 'no'):
                        sys.exit(f'{path}: {call}: "{cell}" is neither empty nor "no"')
                    yield call, column, cell == 'no'


def refusals(rows, chosen, compiler, failures):
    """Numbers of the chosen rows that the compiler refuses. It reports a mistake that several rows share once."""
    source = HEAD
    line_of = {}
    for number in chosen:
        call, column, _ = rows[number]
        line_of[source.count('\n') + 1] = number
        statements = '; '.join(f'(void){one.strip()}' for one in CALLS[call].split(';'))
        source += f'void call{number}({queue_type(call, column)} q) {{ {statements}; }}\n'
    refused = set()
    with tempfile.TemporaryDirectory() as folder:
        name = f'{folder}/table.cpp'
        with open(name, 'w', encoding='utf-8') as file:
            file.write(source)
        run = subprocess.run(compiler + ['-fsyntax-only', name], capture_output=True, text=True, check=False)
    for match in re.finditer(re.escape(name) + r':(\d+):', run.stderr):
        if int(match.group(1)) in line_of:
            refused.add(line_of[int(match.group(1))])
    for line in run.stderr.split('\n'):
        if ' error: ' in line and 'static assertion failed' not in line and 'static_assert failed' not in line:
            failures.append(f'refused without advice: {line}')
    return refused


def main():
    split = sys.argv.index('--')
    rows = [row for path in sys.argv[1:split] for row in tables(path)]
    failures = [f'{call} is in no table' for call in CALLS if call not in {row[0] for row in rows}]
    failures += [f'{vendor} is a column of no table' for vendor in VENDORS if vendor not in {row[1] for row in rows}]
    refused = refusals(rows, range(len(rows)), sys.argv[split + 1:], failures)
    left = [number for number, row in enumerate(rows) if row[2] and number not in refused]
    while left:
        more = refusals(rows, left, sys.argv[split + 1:], failures)
        if not more:
            break
        refused |= more
        left = [number for number in left if number not in more]
    for number, (call, column, expected) in enumerate(rows):
        if expected != (number in refused):
            failures.append(f'{call} with {column} is ' + ('not refused' if expected else 'refused'))
    print('\n'.join(failures[:40]) or f'{len(rows)} combinations, {len(refused)} of them refused')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
