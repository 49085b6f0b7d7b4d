"""Textbook algorithms on small arrays, in NumPy's words: what users type first."""

import numpy as np

import cyclotron as cy


def shortest_paths(W):
    n = len(W)
    dist = cy.full(n, np.inf)
    done = cy.zeros(n, dtype="bool")
    dist[0] = 0.0
    for step in range(n):
        best = np.inf
        u = 0
        for v in range(n):
            if not done[v] and dist[v] < best:
                best = dist[v]
                u = v
        done[u] = True
        for v in range(n):
            if dist[u] + W[u, v] < dist[v]:
                dist[v] = dist[u] + W[u, v]
    return dist


def shortest_paths_by_arrays(W):
    n = W.shape[0]
    dist = cy.full(n, np.inf)
    done = cy.zeros(n, dtype="bool")
    dist[0] = 0.0
    for step in range(n):
        u = cy.argmin(cy.where(done, np.inf, dist))
        done[u] = True
        dist = cy.minimum(dist, dist[u] + W[u])
    return dist


def all_shortest_paths(W):
    D = W.copy()
    n = len(W)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


def union_find(src, dst):
    p = cy.arange(5)
    for e in range(len(src)):
        a = src[e]
        while p[a] != a:
            a = p[a]
        b = dst[e]
        while p[b] != b:
            b = p[b]
        p[a] = b
    return p


def breadth_first(W):
    n = len(W)
    dist = cy.full(n, -1, dtype="int64")
    queue = cy.zeros(n, dtype="int64")
    dist[0] = 0
    head = 0
    tail = 1
    while head < tail:
        u = queue[head]
        head += 1
        for v in range(n):
            if W[u, v] > 8 and dist[v] < 0:
                dist[v] = dist[u] + 1
                queue[tail] = v
                tail += 1
    return dist


def knapsack(w, v):
    best = cy.zeros(11, dtype="float64")
    for i in range(len(w)):
        for c in range(10, -1, -1):
            if c >= w[i]:
                best[c] = max(best[c], best[c - w[i]] + v[i])
    return best


def longest_increasing(x):
    n = len(x)
    L = cy.ones(n, dtype="int64")
    for i in range(n):
        for j in range(i):
            if x[j] < x[i]:
                L[i] = max(L[i], L[j] + 1)
    return L.max()


def longest_common(a, b):
    m, n = len(a), len(b)
    D = cy.zeros((m + 1, n + 1), dtype="int64")
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                D[i, j] = D[i - 1, j - 1] + 1
            else:
                D[i, j] = max(D[i - 1, j], D[i, j - 1])
    return D[m, n]


def edit_distance(a, b):
    m, n = len(a), len(b)
    D = cy.zeros((m + 1, n + 1), dtype="int64")
    for i in range(m + 1):
        D[i, 0] = i
    for j in range(n + 1):
        D[0, j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return D[m, n]


def failure_function(a):
    n = len(a)
    f = cy.zeros(n, dtype="int64")
    k = 0
    for i in range(1, n):
        while k > 0 and a[k] != a[i]:
            k = f[k - 1]
        if a[k] == a[i]:
            k += 1
        f[i] = k
    return f


def ways_to_change(c):
    ways = cy.zeros(12, dtype="int64")
    ways[0] = 1
    for i in range(len(c)):
        for s in range(12):
            if s >= c[i]:
                ways[s] += ways[s - c[i]]
    return ways


def counting_sort(a):
    cnt = cy.zeros(5, dtype="int64")
    out = cy.zeros(len(a), dtype="int64")
    for i in range(len(a)):
        cnt[a[i]] += 1
    for i in range(1, 5):
        cnt[i] += cnt[i - 1]
    for i in range(len(a) - 1, -1, -1):
        cnt[a[i]] -= 1
        out[cnt[a[i]]] = a[i]
    return out


def heapify(x):
    n = len(x)
    for start in range(n // 2 - 1, -1, -1):
        r = start
        while 2 * r + 1 < n:
            c = 2 * r + 1
            if c + 1 < n and x[c] < x[c + 1]:
                c += 1
            if x[r] < x[c]:
                t = x[r]
                x[r] = x[c]
                x[c] = t
                r = c
            else:
                break
    return x


def shell_sort(x):
    n = len(x)
    for gap in (3, 1):
        for i in range(gap, n):
            t = x[i]
            j = i
            while j >= gap and x[j - gap] > t:
                x[j] = x[j - gap]
                j -= gap
            x[j] = t
    return x


def cocktail_sort(x):
    n = len(x)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                swapped = True
        for i in range(n - 2, -1, -1):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                swapped = True
    return x


def run_lengths(a):
    n = len(a)
    vals = cy.zeros(n, dtype="int64")
    runs = cy.zeros(n, dtype="int64")
    m = 0
    vals[0] = a[0]
    runs[0] = 1
    for i in range(1, n):
        if a[i] == vals[m]:
            runs[m] += 1
        else:
            m += 1
            vals[m] = a[i]
            runs[m] = 1
    return vals, runs, m + 1


def largest_sum(x):
    best = x[0]
    cur = x[0]
    s = 0
    lo = 0
    hi = 0
    for i in range(1, len(x)):
        if cur < 0:
            cur = x[i]
            s = i
        else:
            cur += x[i]
        if cur > best:
            best = cur
            lo = s
            hi = i
    return best, lo, hi


def game_of_life(g):
    for t in range(3):
        n = cy.zeros_like(g)
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                if i != 0 or j != 0:
                    n += cy.roll(cy.roll(g, i, 0), j, 1)
        g = cy.where((n == 3) | ((g == 1) & (n == 2)), 1, 0)
    return g


def two_means(x):
    c = x[:2].copy()
    for it in range(4):
        s = cy.zeros(2, dtype="float64")
        k = cy.zeros(2, dtype="float64")
        for i in range(len(x)):
            b = 0
            if abs(x[i] - c[1]) < abs(x[i] - c[0]):
                b = 1
            s[b] += x[i]
            k[b] += 1
        for b in range(2):
            if k[b] > 0:
                c[b] = s[b] / k[b]
    return c


def viterbi(a, P):
    S = P.shape[0]
    T = len(a)
    V = cy.zeros((T, S), dtype="float64")
    B = cy.zeros((T, S), dtype="int64")
    path = cy.zeros(T, dtype="int64")
    for s in range(S):
        V[0, s] = P[s, a[0]]
    for t in range(1, T):
        for s in range(S):
            best = -1.0
            at = 0
            for r in range(S):
                q = V[t - 1, r] * P[r, s]
                if q > best:
                    best = q
                    at = r
            V[t, s] = best * P[s, a[t]]
            B[t, s] = at
    k = cy.argmax(V[T - 1])
    path[T - 1] = k
    for t in range(T - 2, -1, -1):
        k = B[t + 1, k]
        path[t] = k
    return path, V


def josephus(a):
    n = len(a)
    alive = cy.ones(n, dtype="bool")
    pos = 0
    for r in range(n - 1):
        k = 0
        while k < 3:
            if alive[pos]:
                k += 1
            if k < 3:
                pos = (pos + 1) % n
        alive[pos] = False
    return alive


def greatest_divisors(a, b):
    g = cy.zeros(len(a), dtype="int64")
    for i in range(len(a)):
        x = a[i]
        y = b[i]
        while y != 0:
            x, y = y, x % y
        g[i] = x
    return g


def collatz(a):
    c = cy.zeros(len(a), dtype="int64")
    for i in range(len(a)):
        x = a[i] + 1
        k = 0
        while x != 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            k += 1
        c[i] = k
    return c


def binary_search(x, q):
    out = cy.zeros(len(q), dtype="int64")
    for i in range(len(q)):
        lo = 0
        hi = len(x)
        while lo < hi:
            mid = (lo + hi) // 2
            if x[mid] < q[i]:
                lo = mid + 1
            else:
                hi = mid
        out[i] = lo
    return out


def jacobi_rotations(A):
    n = len(A)
    for sweep in range(3):
        for p in range(n):
            for q in range(p + 1, n):
                if A[p, q] != 0:
                    th = (A[q, q] - A[p, p]) / (2 * A[p, q])
                    t = 1 / (abs(th) + np.sqrt(th * th + 1))
                    if th < 0:
                        t = -t
                    c = 1 / np.sqrt(t * t + 1)
                    s = t * c
                    for k in range(n):
                        a = A[k, p]
                        b = A[k, q]
                        A[k, p] = c * a - s * b
                        A[k, q] = s * a + c * b
                    for k in range(n):
                        a = A[p, k]
                        b = A[q, k]
                        A[p, k] = c * a - s * b
                        A[q, k] = s * a + c * b
    return A


def median_of_three(x):
    y = cy.zeros(len(x), dtype="float64")
    for i in range(1, len(x) - 1):
        a, b, c = x[i - 1], x[i], x[i + 1]
        if a > b:
            a, b = b, a
        if b > c:
            b, c = c, b
        if a > b:
            a, b = b, a
        y[i] = b
    return y


def topological_order(W):
    n = len(W)
    deg = cy.zeros(n, dtype="int64")
    order = cy.zeros(n, dtype="int64")
    used = cy.zeros(n, dtype="bool")
    for i in range(n):
        for j in range(n):
            if i < j and W[i, j] > 8:
                deg[j] += 1
    for k in range(n):
        at = -1
        for j in range(n):
            if at < 0 and not used[j] and deg[j] == 0:
                at = j
        used[at] = True
        order[k] = at
        for j in range(n):
            if at < j and W[at, j] > 8:
                deg[j] -= 1
    return order


def histogram_of_pairs(x, y):
    H = cy.zeros((5, 4), dtype="int64")
    for i in range(len(x)):
        H[x[i], y[i]] += 1
    return H


def flood_fill(g):
    h, w = g.shape
    lab = cy.zeros((h, w), dtype="int64")
    lab[0, 0] = 1
    for it in range(6):
        for i in range(h):
            for j in range(w):
                reached = (i > 0 and lab[i - 1, j] == 1) or (j > 0 and lab[i, j - 1] == 1)
                if g[i, j] == g[0, 0] and lab[i, j] == 0 and reached:
                    lab[i, j] = 1
    return lab


def running_variance(x):
    m = 0.0
    M = 0.0
    n = 0
    for v in x:
        n += 1
        d = v - m
        m += d / n
        M += d * (v - m)
    return m, M / (n - 1)


def ranks(x):
    n = len(x)
    r = cy.zeros(n, dtype="int64")
    for i in range(n):
        for j in range(n):
            if x[j] < x[i] or (x[j] == x[i] and j < i):
                r[i] += 1
    return r


def cycles_of_a_permutation(p):
    n = len(p)
    seen = cy.zeros(n, dtype="bool")
    c = 0
    for i in range(n):
        if not seen[i]:
            c += 1
            j = i
            while not seen[j]:
                seen[j] = True
                j = p[j]
    return c


def majority(a):
    cand = a[0]
    cnt = 0
    for v in a:
        if cnt == 0:
            cand = v
        cnt += 1 if v == cand else -1
    return cand, cnt


def most_water(x):
    lo = 0
    hi = len(x) - 1
    best = 0.0
    while lo < hi:
        best = max(best, min(x[lo], x[hi]) * (hi - lo))
        if x[lo] < x[hi]:
            lo += 1
        else:
            hi -= 1
    return best


def quicksort(x):
    n = len(x)
    stack = cy.zeros(2 * n, dtype="int64")
    stack[1] = n - 1
    top = 2
    while top > 0:
        top -= 2
        lo = stack[top]
        hi = stack[top + 1]
        if lo < hi:
            i = lo
            for j in range(n):
                if lo <= j < hi and x[j] < x[hi]:
                    x[i], x[j] = x[j], x[i]
                    i += 1
            x[i], x[hi] = x[hi], x[i]
            stack[top] = lo
            stack[top + 1] = i - 1
            stack[top + 2] = i + 1
            stack[top + 3] = hi
            top += 4
    return x
