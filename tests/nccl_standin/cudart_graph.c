/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_graph.c - what was recorded, run any number of times. Launches of one
 * instance follow each other, whatever their streams. An instance may be
 * destroyed while it runs.
 */
#include "cudart.h"

#include <stdlib.h>

struct CUgraphExec_st {
    struct CUgraph_st *graph; /* its own copy */
    struct standin_marker last;
};

struct CUgraph_st *standin__graph_create(void)
{
    return standin__allocate(sizeof(struct CUgraph_st));
}

void standin__graph_add(struct CUgraph_st *graph,
                        const struct standin_task *task)
{
    size_t count = (size_t)graph->num_tasks + 1;

    graph->tasks = realloc(graph->tasks, count * sizeof(*graph->tasks));
    if (graph->tasks == NULL)
        standin__fatal("no host memory for a graph of %zu nodes", count);
    graph->tasks[graph->num_tasks] = standin__task_copy(task);
    graph->num_tasks++;
}

void standin__graph_destroy(struct CUgraph_st *graph)
{
    for (int i = 0; i < graph->num_tasks; i++) {
        if (graph->tasks[i].bytes > 0)
            free(graph->tasks[i].arg);
    }
    free(graph->tasks);
    free(graph);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess && graph == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        standin__graph_destroy(graph);
    return standin__leave(error);
}

static cudaError_t instantiate(cudaGraphExec_t *ret, cudaGraph_t graph,
                               unsigned long long flags)
{
    struct CUgraphExec_st *exec;

    if (ret == NULL || graph == NULL || flags != 0)
        return cudaErrorInvalidValue;
    exec = standin__allocate(sizeof(*exec));
    exec->graph = standin__graph_create();
    for (int i = 0; i < graph->num_tasks; i++)
        standin__graph_add(exec->graph, &graph->tasks[i]);
    *ret = exec;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess)
        error = instantiate(pGraphExec, graph, flags);
    return standin__leave(error);
}

static cudaError_t launch(struct CUgraphExec_st *exec, cudaStream_t handle)
{
    struct CUstream_st *stream = standin__stream(handle);
    struct standin_task task = { .run = NULL };
    cudaError_t error;

    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    error = standin__submit(stream, &task, &exec->last);
    for (int i = 0; error == cudaSuccess && i < exec->graph->num_tasks; i++) {
        task = standin__task_copy(&exec->graph->tasks[i]);
        error = standin__submit(stream, &task, NULL);
    }
    if (error == cudaSuccess && stream->capture == NULL) {
        standin__unmark(&exec->last);
        exec->last = standin__mark(stream);
    }
    return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess && graphExec == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        standin__lock();
        error = launch(graphExec, stream);
        standin__unlock();
    }
    return standin__leave(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error != cudaSuccess || graphExec == NULL)
        return standin__leave(error == cudaSuccess ? cudaErrorInvalidValue
                                                   : error);
    standin__lock();
    standin__unmark(&graphExec->last);
    standin__unlock();
    standin__graph_destroy(graphExec->graph);
    free(graphExec);
    return standin__leave(cudaSuccess);
}
